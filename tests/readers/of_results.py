"""What stages leave for later ones: a stranger's cache may hold anything."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from asterism.attacks.augmentation import AugmentationSet
from asterism.core.files.artifacts import read_arrays, read_json, write_arrays, write_json
from asterism.deepstellar.fuzzing.population import (
    Crashes,
    FirstVisits,
    GrowingTable,
    Population,
    SeedQueue,
)
from asterism.deepstellar.fuzzing.results import Corpus, save_population
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.params import AbstractionParams
from asterism.deepstellar.seeds import SeedInputs
from asterism.dflare.outcome import SearchResult, SeedRecord, Trigger
from asterism.dflare.trigger import load_seeds
from asterism.differential.engine.record import ExecutionRecord
from asterism.differential.engine.tasks import ExecutionOutcome, Result
from asterism.differential.oracle.finding import Finding, read_findings
from asterism.differential.report import writing
from asterism.memo.generating.campaign import Mutant
from asterism.memo.generating.generate import Island
from asterism.memo.graphs.coverage import covered_elements
from asterism.memo.graphs.store import read_models, read_weights, write_models, write_weights
from memo.small_graphs import branching, convolutional, recurrent
from readers.examples import Places


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _graphs() -> dict[str, Any]:
    return {"a": convolutional(), "b": recurrent(), "c": branching()}


def use_models(path: Path) -> object:
    """A graph that was read is used: its shapes, its coverage, what is written of it."""
    graphs = read_models(path)
    write_models(path / "again", graphs)
    return [(g.depth, g.largest, g.steps, g.outputs, covered_elements(g)) for g in graphs.values()]


def models_files(place: Places) -> None:
    graphs = _graphs()
    write_models(place(0), graphs)
    for number, (name, graph) in enumerate(graphs.items(), 1):
        write_models(place(number), {name: graph})


def use_weights(path: Path) -> object:
    return {layer: [name for name, _ in many] for layer, many in read_weights(path).items()}


def weights_files(place: Places) -> None:
    cell = [("kernel", np.ones((2, 3), np.float32)), ("bias", np.zeros(3, np.float32))]
    write_weights(place(0) / "weights.npz", {"lstm/cell": cell})
    write_weights(place(1) / "weights.npz", {})


def read_found(path: Path) -> object:
    """As the triage reads them."""
    return read_findings(path, 3)


def findings_files(place: Places) -> None:
    error = Finding(0, "error", "run", "onnxruntime", ("onnxruntime:tf2onnx",), ("normal",))
    values = ("values differ", "run", "openvino", ("openvino:tf2onnx",))
    found = [error, Finding(1, *values, excess=3.0, d_mad=0.5)]
    write_json(place(0) / "findings.json", [f.to_json() for f in found])


def read_known(path: Path) -> object:
    return writing.read_known_issues(str(path))


def known_files(place: Places) -> None:
    text = "onnxruntime error: https://example.org/1\nLSTM: https://example.org/2\n"
    (place(0) / "known.yaml").write_text(text)


def use_record(path: Path) -> object:
    return [result.index for result in ExecutionRecord.load(path).results(1)]


def record_files(place: Places) -> None:
    record = ExecutionRecord()
    one, other = "onnxruntime:tf2onnx", "tensorflow:xla"
    outcomes = {
        one: ExecutionOutcome(0, one, "run", "ok"),
        other: ExecutionOutcome(0, other, "run", "crash"),
    }
    outputs = {one: {"normal": [np.ones((2, 3), np.float32)]}}
    record.add([Result(0, ("normal",), outcomes, outputs)])
    record.save(place(0))


def island_files(place: Places) -> None:
    mutants = [Mutant(g, name, "insert", 3) for name, g in _graphs().items()]
    Island(mutants, Counter({"too large": 2}), None).save(place(0))


def use_trace_model(path: Path) -> object:
    model = TraceModel.load(path)
    return model.dtmc.probabilities.shape, model.dtmc.visits.shape


def trace_model_files(place: Places) -> None:
    states = _rng().random((12, 5, 6), np.float32)
    params = AbstractionParams(k=2, m=4, bits=8, n_step=1)
    TraceModel.fit(states, np.arange(12) % 3, 3, params).save(place(0))


def profile_files(place: Places) -> None:
    np.save(place(0) / "states.npy", _rng().random((4, 3, 2), np.float32))
    write_arrays(place(0) / "inputs.npz", labels=np.arange(4), inputs=np.arange(4))


def seeds_files(place: Places) -> None:
    images = _rng().integers(0, 256, (3, 4, 4, 1), np.uint8)
    SeedInputs(images, np.arange(3), np.arange(3)).save(place(0))


def population() -> Population:
    """A small campaign's state."""
    images = _rng().integers(0, 256, (4, 3, 3, 1), np.uint8)
    counted = np.arange(4)
    descent = {"parent": counted - 1, "root": counted * 0, "mutator": np.zeros(4, np.int16)}
    descent |= {"found": counted, "label": counted % 2}
    queue = {"images": images, "references": images, "transformed": counted > 1, "chosen": counted}
    crashes = {"images": images[::-1].copy(), "predicted": counted % 3}
    return Population(
        SeedQueue(GrowingTable(queue | descent)),
        Crashes(GrowingTable(crashes | descent)),
        FirstVisits({"basic_state": counted - 1}),
        9,
    )


def population_files(place: Places) -> None:
    population().save(place(0))


def use_corpus(path: Path) -> object:
    return [Corpus.load(path, name).table.to_dicts() for name in ("queue", "crashes")]


def corpus_files(place: Places) -> None:
    save_population(population(), ["shear"], place(0))


def use_triggers(path: Path) -> object:
    return len(SearchResult.load(path).triggers), len(load_seeds(path).items)


def triggers_files(place: Places) -> None:
    items = _rng().integers(0, 256, (3, 4, 4, 1), np.uint8)
    scores = np.full(3, 1 / 3, np.float32)
    triggers = [Trigger(i, 5 + i, ("noise", "shear"), items[i], scores, scores) for i in range(2)]
    records = [SeedRecord(0, "found", 5), SeedRecord(2, "failed", 9, "crash")]
    SearchResult(records, triggers, triggers).save(place(0))
    write_arrays(place(0) / "seeds.npz", items=items, numbers=np.arange(3))


def use_augmentations(path: Path) -> object:
    names = read_json(path / "names.json")
    augmentation = AugmentationSet.load(path / "augmentation.npz")
    return names, augmentation.judged, read_arrays(path / "heatmaps.npz")


def augmentations_files(place: Places) -> None:
    images = _rng().random((3, 4, 4, 1), np.float32)
    AugmentationSet.natural(images, np.arange(3)).save(place(0) / "augmentation.npz")
    arrays = {"images": images.astype(np.uint8), "relevance": images, "labels": np.arange(3)}
    write_arrays(place(0) / "heatmaps.npz", **arrays)
    write_json(place(0) / "names.json", ["fgsm", "semantic"])
