"""Readers of what stages leave for later ones: a stranger's cache may hold anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from reader_fuzzing.of_data import place
from reader_fuzzing.table import Reader, register


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _graphs() -> dict[str, Any]:
    from memo.small_graphs import branching, convolutional, recurrent

    return {"a": convolutional(), "b": recurrent(), "c": branching()}


def _read_models(path: Path) -> object:
    """A graph that was read is used: its shapes, its coverage, what is written of it."""
    from asterism.memo.graphs.coverage import elements_of
    from asterism.memo.graphs.store import read_models, write_models

    graphs = read_models(path)
    write_models(path / "again", graphs)
    return [(g.depth, g.largest, g.steps, g.outputs, elements_of(g)) for g in graphs.values()]


def _models_seeds(folder: Path) -> None:
    from asterism.memo.graphs.store import write_models

    graphs = _graphs()
    write_models(place(folder, 0), graphs)
    for number, (name, graph) in enumerate(graphs.items(), 1):
        write_models(place(folder, number), {name: graph})


register(Reader("models.json", "results", ".", _read_models, _models_seeds, 20, fresh="graphs"))


def _read_weights(path: Path) -> object:
    from asterism.memo.graphs.store import read_weights

    return {layer: [name for name, _ in many] for layer, many in read_weights(path).items()}


def _weights_seeds(folder: Path) -> None:
    from asterism.memo.graphs.store import write_weights

    layers: Any = {
        "lstm/cell": [("kernel", np.ones((2, 3), np.float32)), ("bias", np.zeros(3, np.float32))]
    }
    write_weights(place(folder, 0) / "weights.npz", layers)
    write_weights(place(folder, 1) / "weights.npz", {})


register(Reader("weights.npz", "results", "weights.npz", _read_weights, _weights_seeds, 6))


def _read_findings(path: Path) -> object:
    """As the triage reads them."""
    from asterism.differential.oracle.finding import read_findings

    return read_findings(path, 3)


def _findings_seeds(folder: Path) -> None:
    from asterism.core.files.artifacts import write_json
    from asterism.differential.oracle.finding import Finding

    found = [
        Finding(0, "error", "run", "onnxruntime", ("onnxruntime:tf2onnx",), ("normal",)),
        Finding(
            1, "values differ", "run", "openvino", ("openvino:tf2onnx",), excess=3.0, d_mad=0.5
        ),
    ]
    write_json(place(folder, 0) / "findings.json", [f.to_json() for f in found])


register(Reader("findings.json", "results", "findings.json", _read_findings, _findings_seeds, 6))


def _read_known(path: Path) -> object:
    from asterism.differential.report.known_issues import read_known_issues

    return read_known_issues(str(path))


def _known_seeds(folder: Path) -> None:
    text = "onnxruntime error: https://example.org/1\nLSTM: https://example.org/2\n"
    (place(folder, 0) / "known.yaml").write_text(text)


register(
    Reader("known issues", "results", "known.yaml", _read_known, _known_seeds, 6, fresh="yaml")
)


def _read_record(path: Path) -> object:
    from asterism.differential.engine.record import Record

    return [result.index for result in Record.load(path).results(1)]


def _record_seeds(folder: Path) -> None:
    from asterism.differential.engine.outcomes import ExecutionOutcome
    from asterism.differential.engine.record import Record
    from asterism.differential.engine.tasks import Result
    from asterism.memo.graphs.graph import Node, sequential
    from asterism.memo.universe.tensors import Tensor

    record = Record()
    one, other = "onnxruntime:tf2onnx", "tensorflow:xla"
    outputs = {one: {"normal": [np.ones((2, 3), np.float32)]}}
    outcomes = {
        one: ExecutionOutcome(0, one, "run", "ok"),
        other: ExecutionOutcome(0, other, "run", "crash"),
    }
    graph = sequential(Tensor((3,)), [lambda _: Node("ReLU", {})])
    record.add(graph, [Result(0, ("normal",), outcomes, outputs)])
    record.save(place(folder, 0))


register(Reader("outcomes", "results", ".", _read_record, _record_seeds, 8))


def _read_island(path: Path) -> object:
    from asterism.memo.generating.generate import Island

    return len(Island.load(path).mutants)


def _island_seeds(folder: Path) -> None:
    from collections import Counter

    from asterism.memo.generating.campaign import Mutant
    from asterism.memo.generating.generate import Island

    mutants = [Mutant(g, name, "insert", 3) for name, g in _graphs().items()]
    Island(mutants, Counter({"too large": 2}), None).save(place(folder, 0))


register(Reader("islands", "results", ".", _read_island, _island_seeds, 6))


def _read_trace_model(path: Path) -> object:
    from asterism.deepstellar.model.trace_model import TraceModel

    model = TraceModel.load(path)
    return model.dtmc.probabilities.shape, model.dtmc.visits.shape


def _trace_model_seeds(folder: Path) -> None:
    from asterism.deepstellar.model.trace_model import TraceModel
    from asterism.deepstellar.parameters.params import AbstractionParams

    states = _rng().random((12, 5, 6), np.float32)
    params = AbstractionParams(k=2, m=4, bits=8, n_step=1)
    TraceModel.fit(states, np.arange(12) % 3, 3, params).save(place(folder, 0))


register(Reader("chain of states", "results", ".", _read_trace_model, _trace_model_seeds, 8))


def _read_profile(path: Path) -> object:
    from asterism.deepstellar.profiling.profile import Profile

    profile = Profile.load(path)
    return profile.states.shape, profile.labels.shape


def _profile_seeds(folder: Path) -> None:
    from asterism.core.files.artifacts import write_arrays

    here = place(folder, 0)
    np.save(here / "states.npy", _rng().random((4, 3, 2), np.float32))
    write_arrays(here / "inputs.npz", labels=np.arange(4), inputs=np.arange(4))


register(Reader("profile", "results", ".", _read_profile, _profile_seeds, 5))


def _read_seeds(path: Path) -> object:
    from asterism.deepstellar.seeding.seeds import SeedInputs

    return len(SeedInputs.load(path))


def _seeds_seeds(folder: Path) -> None:
    from asterism.deepstellar.seeding.seeds import SeedInputs

    images = _rng().integers(0, 256, (3, 4, 4, 1), np.uint8)
    SeedInputs(images, np.arange(3), np.arange(3)).save(place(folder, 0))


register(Reader("seeds", "results", ".", _read_seeds, _seeds_seeds, 4))


def population() -> Any:
    """A small campaign's state."""
    from asterism.deepstellar.campaigns.columns import Columns
    from asterism.deepstellar.campaigns.population import (
        Crashes,
        FirstVisits,
        Population,
        Queue,
    )

    rng = _rng()
    images = rng.integers(0, 256, (4, 3, 3, 1), np.uint8)
    counted = np.arange(4)
    descent = {"parent": counted - 1, "root": counted * 0, "mutator": np.zeros(4, np.int16)}
    descent |= {"found": counted, "label": counted % 2}
    queue = {"images": images, "references": images, "transformed": counted > 1, "chosen": counted}
    crashes = {"images": images[::-1].copy(), "predicted": counted % 3}
    return Population(
        Queue(Columns(queue | descent)),
        Crashes(Columns(crashes | descent)),
        FirstVisits({"basic_state": counted - 1}),
        9,
    )


def _read_population(path: Path) -> object:
    from asterism.deepstellar.campaigns.population import Population

    found = Population.load(path)
    return len(found.queue), len(found.crashes), found.run


def _population_seeds(folder: Path) -> None:
    population().save(place(folder, 0))


register(Reader("population", "results", ".", _read_population, _population_seeds, 6))


def _read_corpus(path: Path) -> object:
    from asterism.deepstellar.campaigns.results import Corpus

    return [Corpus.load(path, name).table.to_dicts() for name in ("queue", "crashes")]


def _corpus_seeds(folder: Path) -> None:
    from asterism.deepstellar.campaigns.results import save

    save(population(), ["shear"], place(folder, 0))


register(Reader("corpus", "results", ".", _read_corpus, _corpus_seeds, 6))


def _read_triggers(path: Path) -> object:
    from asterism.dflare.outcome import Findings
    from asterism.dflare.trigger import load_seeds

    findings = Findings.load(path)
    return len(findings.triggers), len(findings.minimal), len(load_seeds(path).items)


def _triggers_seeds(folder: Path) -> None:
    from asterism.core.files.artifacts import write_arrays
    from asterism.dflare.outcome import Findings, SeedRecord, Trigger

    items = _rng().integers(0, 256, (3, 4, 4, 1), np.uint8)
    scores = np.full(3, 1 / 3, np.float32)
    triggers = [Trigger(i, 5 + i, ("noise", "shear"), items[i], scores, scores) for i in range(2)]
    records = [SeedRecord(0, "found", 5), SeedRecord(2, "failed", 9, "crash")]
    here = place(folder, 0)
    Findings(records, triggers, triggers).save(here)
    write_arrays(here / "seeds.npz", items=items, numbers=np.arange(3))


register(Reader("triggers", "results", ".", _read_triggers, _triggers_seeds, 8))


def _read_augmentations(path: Path) -> object:
    from asterism.attacks.augmentation import AugmentationSet
    from asterism.core.files.artifacts import read_arrays, read_json

    names = read_json(path / "names.json")
    augmentation = AugmentationSet.load(path / "augmentation.npz")
    return names, augmentation.judged, read_arrays(path / "heatmaps.npz")


def _augmentations_seeds(folder: Path) -> None:
    from asterism.attacks.augmentation import AugmentationSet
    from asterism.core.files.artifacts import write_arrays, write_json

    images = _rng().random((3, 4, 4, 1), np.float32)
    here = place(folder, 0)
    AugmentationSet.natural(images, np.arange(3)).save(here / "augmentation.npz")
    arrays = {"images": images.astype(np.uint8), "relevance": images, "labels": np.arange(3)}
    write_arrays(here / "heatmaps.npz", **arrays)
    write_json(here / "names.json", ["fgsm", "semantic"])


register(Reader("augmentations", "results", ".", _read_augmentations, _augmentations_seeds, 5))
