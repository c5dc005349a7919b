"""What is to blame for the deviations, and a repaired file that is checked on unseen inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays, replacing, write_table
from asterism.core.messages.errors import UserError
from asterism.core.randomness.random_streams import stream
from asterism.localisation.quantised_nodes import match
from asterism.localisation.reading import open_pair
from asterism.localisation.repair import RepairCurve, RepairedFile, latency, repair_curve
from asterism.localisation.running import Feed as Tensors
from asterism.localisation.running import batches
from asterism.models.signatures.reading import read_signature
from asterism.models.tensor_models.answers import ComparedOutputs
from asterism.models.tensor_models.feeding import Feed
from asterism.models.tensor_models.isolated import IsolatedFileModel
from asterism.vetting.agreement import measure_agreement
from asterism.vetting.opening import Vetted, open_vetted
from asterism.vetting.params import VetParams
from asterism.vetting.statistics import share_of
from asterism.vetting.verdict import criteria_of

#: Inputs that a candidate graph runs on at a time: all tensors of a run are held together.
_BATCH = 8
#: Nodes of the ranking that are written down.
_RANKED = 50
#: Nodes of the ranking that the certificate names.
_BLAMED = 5


@dataclass(frozen=True)
class _Cases:
    """Deviating inputs: those to repair by, and those to judge by."""

    repair: NDArray[Any]
    held_out: NDArray[Any]


def repair(params: VetParams, seed: int, triggers: Path, folder: Path) -> dict[str, Any]:
    """Localise the deviations of a pair, and repair it where that is possible.

    Args:
        params: the pair and the budget.
        seed: the run's seed.
        triggers: ``triggers.npz`` of the search.
        folder: replaced by ``ranking.csv``, ``tensors.csv``, ``curve.csv`` and, where a file
            repairs enough, ``repaired.onnx``.

    Returns:
        Figures of the repair; ``reason`` says why there is none.
    """
    with open_vetted(params, seed) as vetted, replacing(folder) as temporary:
        temporary.mkdir()
        answers = vetted.answers
        deviates = vetted.comparison.deviates(answers.f, answers.g)
        found = read_arrays(triggers)["items"]
        # The repair sees the other half only. It is drawn, since labels may alternate.
        unseen = stream(seed, "vet", "unseen").permutation(len(deviates)) % 2 == 1
        items = vetted.inputs.items
        cases = _Cases(
            np.concatenate([items[deviates & ~unseen], found[::2]])[: params.repair.inputs],
            np.concatenate([items[deviates & unseen], found[1::2]]),
        )
        try:
            curve = _curve(vetted, cases.repair)
        except UserError as reason:
            return {"reason": str(reason)}
        _write_tables(curve, vetted, cases.repair, temporary)
        chosen = _best(curve, params)
        facts: dict[str, Any] = {
            "quantised_nodes": len(curve.pair.nodes),
            "evaluations": curve.evaluations,
            "deviating_inputs": len(cases.repair),
            "blamed": [
                {
                    "node": entry.node.name,
                    "operator": entry.node.operator,
                    "explained": entry.explained,
                }
                for entry in curve.localisation.ranking[:_BLAMED]
            ],
        }
        if chosen is None:
            return facts | {"reason": "no file takes any of the deviations away"}
        if chosen.gone < params.repair.gone:
            facts["reason"] = _too_little(params, chosen)
        chosen.write(temporary / "repaired.onnx")
        return facts | _judged(vetted, chosen, temporary / "repaired.onnx", cases, unseen)


def _curve(vetted: Vetted, items: NDArray[Any]) -> RepairCurve:
    """Localisation and repaired files.

    Raises:
        UserError: there is nothing to repair, or files of these formats cannot be repaired.
    """
    params = vetted.params
    if not len(items):
        raise UserError("no input was found on which the models deviate")
    original = Path(params.original)
    for path in (original, Path(params.compressed)):
        if path.suffix != ".onnx":
            raise UserError(
                f"{path.name} is no ONNX file: nodes of pairs of ONNX files are exchanged"
            )
    signature = read_signature(original)
    if signature.streams:
        raise UserError("nodes of a streaming model are not exchanged: its state is carried on")
    pair = match(open_pair(original, Path(params.compressed)))
    outputs = ComparedOutputs(signature, params.feeding.outputs, str(original))

    def deviation(
        wanted: Mapping[str, NDArray[Any]], given: Mapping[str, NDArray[Any]]
    ) -> NDArray[Any]:
        count = len(next(iter(wanted.values())))
        f, g = outputs.rows(wanted, count), outputs.rows(given, count)
        return vetted.comparison.deviates(f, g).astype(np.float64)

    most = max(1, int(params.repair.float_share * len(pair.nodes)))
    feeds = batches(_feed(vetted, items), _BATCH)
    return repair_curve(pair, feeds, deviation, params.repair.evaluations, most, params.repair.gone)


def _feed(vetted: Vetted, items: NDArray[Any]) -> Tensors:
    signature = read_signature(Path(vetted.params.original))
    feed = Feed(signature, vetted.params.feeding, vetted.inputs.kind == "images")
    return feed.inputs(items)


def _judged(
    vetted: Vetted,
    chosen: RepairedFile,
    path: Path,
    cases: _Cases,
    unseen: NDArray[np.bool_],
) -> dict[str, Any]:
    """The repaired file on inputs that it was not repaired by."""
    params, inputs = vetted.params, vetted.inputs
    images = inputs.kind == "images"
    items = inputs.items[unseen]
    with IsolatedFileModel(path, params.feeding, images, inputs.items[:16]) as model:
        before, after = vetted.pair.ask(items), model.predict(items)
        held = vetted.pair.ask(cases.held_out)
        again = model.predict(cases.held_out)
    comparison = vetted.comparison
    agreement = measure_agreement(
        before.f,
        after,
        comparison.deviates(before.f, after),
        comparison.distance(before.f, after),
        None if inputs.labels is None else inputs.labels[unseen],
        vetted.scores,
        params.confidence,
    )
    formerly = comparison.deviates(before.f, before.g)
    still = comparison.deviates(held.f, again)
    fell = agreement.differ.count > int(formerly.sum())
    criteria = criteria_of(agreement, None, params.thresholds, params.confidence)
    return {
        "nodes_in_float": len(chosen.floats),
        "nodes_with_finer_scales": len(chosen.finer),
        "bits": chosen.bits,
        "float_share": chosen.float_share,
        "bytes": chosen.size,
        "bytes_before": Path(params.compressed).stat().st_size,
        "bytes_original": Path(params.original).stat().st_size,
        "gone": chosen.gone,
        "gone_held_out": share_of(int((~still).sum()), len(still), params.confidence).to_json(),
        "differ_before": share_of(int(formerly.sum()), len(items), params.confidence).to_json(),
        "agreement": agreement.to_json(),
        "agreement_fell": fell,
        "criteria": [criterion.to_json() for criterion in criteria],
    }


def _best(curve: RepairCurve, params: VetParams) -> RepairedFile | None:
    """The smallest change that repairs enough, else the file that repairs most; None for none."""
    enough = curve.smallest(params.repair.gone, params.repair.float_share)
    if enough is not None and (enough.floats or enough.finer):
        return enough
    within = [f for f in curve.files if f.float_share <= params.repair.float_share and f.gone > 0]
    return max(within, key=lambda file: (file.gone, -len(file.floats)), default=None)


def _too_little(params: VetParams, chosen: RepairedFile) -> str:
    return (
        f"no file with at most {params.repair.float_share:.0%} of the nodes in float takes "
        f"{params.repair.gone:.0%} of the deviations away; this one takes {chosen.gone:.0%}"
    )


def _write_tables(curve: RepairCurve, vetted: Vetted, items: NDArray[Any], folder: Path) -> None:
    import polars as pl

    ranking = curve.localisation.ranking[:_RANKED]
    ranked = {
        "node": [entry.node.name for entry in ranking],
        "operator": [entry.node.operator for entry in ranking],
        "explained": [entry.explained for entry in ranking],
        "error_explained": [entry.error_explained for entry in ranking],
        "own_error": [entry.own for entry in ranking],
    }
    write_table(folder / "ranking.csv", pl.DataFrame(ranked, strict=False))
    errors = curve.localisation.errors
    tensors = {
        "tensor": [error.tensor for error in errors],
        "node": [error.node for error in errors],
        "operator": [error.operator for error in errors],
        "sqnr_db": [error.cumulative.sqnr_db for error in errors],
        "relative_l2": [error.cumulative.relative_l2 for error in errors],
        "largest": [error.cumulative.largest for error in errors],
        "own_relative_l2": [None if e.own is None else e.own.relative_l2 for e in errors],
    }
    write_table(folder / "tensors.csv", pl.DataFrame(tensors, strict=False))
    one = _feed(vetted, items[:1])
    points = {
        "nodes_in_float": [len(file.floats) for file in curve.files],
        "nodes_with_finer_scales": [len(file.finer) for file in curve.files],
        "bits": [file.bits for file in curve.files],
        "bytes": [file.size for file in curve.files],
        "gone": [file.gone for file in curve.files],
        "error": [file.error for file in curve.files],
        "milliseconds": [1e3 * latency(file.content, one) for file in curve.files],
    }
    write_table(folder / "curve.csv", pl.DataFrame(points, strict=False))
