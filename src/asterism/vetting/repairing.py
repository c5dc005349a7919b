"""What is to blame for the deviations, and a repaired file that is checked on unseen inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays, replacing, write_table
from asterism.core.messages.errors import UserError
from asterism.core.random_streams import stream
from asterism.localisation.quantised_nodes import match_nodes
from asterism.localisation.reading import open_graphs
from asterism.localisation.repair import (
    RepairCurve,
    RepairedFile,
    build_repair_curve,
    count_allowed_floats,
    measure_latency,
)
from asterism.localisation.running import Run
from asterism.models.tensor_models.subjects import FileSubject
from asterism.vetting.judging import RepairTask
from asterism.vetting.onnx_pairs import OnnxPair, open_as_onnx
from asterism.vetting.opening import VettingSession
from asterism.vetting.params import REPAIRED
from asterism.vetting.repair_figures import (
    RepairFigures,
    Speed,
    measure_speed,
    write_localisation,
    write_speeds,
)

#: Nodes of the ranking that are written down.
_RANKED = 50
#: Inputs that ranges are measured on.
_MEASURED = 64
#: Why nothing is repaired, where there is nothing to repair it by.
_NONE = "no input was found on which the models deviate"
_OF_OTHER_HALF = (
    "the inputs on which the models deviate are of the half that a repair is judged by; more "
    "inputs are needed"
)
#: Bits of the outputs that runtimes compute faster than float.
_FAST = 8


def repair_opened(
    vetted: VettingSession, seed: int, triggers: Path, folder: Path
) -> dict[str, Any]:
    """Localise the deviations of a pair, and repair it where that is possible.

    Args:
        vetted: the pair and the budget.
        seed: the run's seed.
        triggers: ``triggers.npz`` of the search.
        folder: replaced by ``ranking.csv``, ``tensors.csv``, ``curve.csv``, ``speed.csv`` and,
            where a file repairs something, ``repaired.onnx`` or ``repaired.pt2``.

    Returns:
        Figures of the repair; ``reason`` says why there is none.
    """
    params = vetted.params
    with replacing(folder) as temporary:
        temporary.mkdir()
        seen, unseen = _halves(len(vetted.deviates), seed)
        deviating = vetted.inputs.items[seen[vetted.deviates[seen]]]
        searched = _found_from(triggers, seen)
        cases = np.concatenate([deviating, searched])[: params.repair.inputs]
        speeds = _speeds_of_both(vetted)
        write_speeds(speeds, temporary)
        if not len(cases):
            others = vetted.deviates.any() or len(read_arrays(triggers)["items"])
            return {"reason": _OF_OTHER_HALF if others else _NONE}
        task = RepairTask(vetted, unseen, seed, speeds, temporary)
        try:
            if all(one.signature.format == "torch" for one in vetted.given.subjects):
                from asterism.vetting.module_repairing import repair_modules

                return repair_modules(task, cases).to_json()
            with open_as_onnx(vetted) as pair:
                cases = pair.reproduced(cases)
                curve = _curve(pair, cases, vetted.inputs.items[seen[:_MEASURED]])
                ranking = curve.localisation.ranking
                write_localisation(ranking[:_RANKED], curve.localisation.errors, temporary)
                _write_curve(curve, pair.runs(cases[:1])[0], temporary)
        except UserError as reason:
            return {"reason": str(reason)}
        found = RepairFigures(
            quantised_nodes=len(curve.pair.nodes),
            evaluations=curve.evaluations,
            deviating_inputs=len(cases),
            blamed=ranking,
        )
        return _repaired(task, curve, found).to_json()


def _repaired(task: RepairTask, curve: RepairCurve, found: RepairFigures) -> RepairFigures:
    """The best file, and how it is judged.

    Args:
        task: gets the file.
        curve: the files.
        found: what is to blame.
    """
    wanted = task.vetted.params.repair
    most = count_allowed_floats(len(curve.pair.nodes), wanted.float_share)
    chosen = _best(curve, wanted.gone, most)
    if chosen is None:
        reason = f"no file {_allowed(curve, most)} takes any of the deviations away"
        return replace(found, reason=reason)
    path = task.folder / REPAIRED
    chosen.write(path)
    enough = chosen.expected >= wanted.gone
    made = replace(
        found,
        reason=None if enough else _too_little(curve, wanted.gone, most, chosen),
        nodes_in_float=len(chosen.floats),
        nodes_with_finer_scales=len(chosen.finer),
        bits=chosen.bits,
        nodes_with_finest_weights=len(chosen.finest),
        float_share=chosen.float_share,
        gone=chosen.gone,
        expected=chosen.expected,
    )
    return task.conclude(found, made, FileSubject(path))


def _halves(count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that a repair sees, and those that it is judged by.

    One of each two neighbours is drawn, since labels may alternate. Further inputs move none.
    """
    drawn = stream(seed, "vet", "unseen").random(-(-count // 2)) < 0.5
    sees = np.stack([drawn, ~drawn], axis=1).reshape(-1)[:count]
    return np.flatnonzero(sees), np.flatnonzero(~sees)


def _speeds_of_both(vetted: VettingSession) -> list[Speed]:
    subjects, names = vetted.given.subjects, ("original", "compressed")
    return [
        measure_speed(name, subject.size, model, vetted.inputs.items)
        for name, subject, model in zip(names, subjects, vetted.pair.models, strict=True)
    ]


def _found_from(triggers: Path, seeds: NDArray[np.int64]) -> NDArray[Any]:
    """The triggering inputs that the search found from some of the given inputs."""
    arrays = read_arrays(triggers)
    items: NDArray[Any] = arrays["items"]
    return items[np.isin(arrays["seeds"], seeds)] if len(items) else items


def _curve(pair: OnnxPair, items: NDArray[Any], ordinary: NDArray[Any]) -> RepairCurve:
    """Localisation and repaired files.

    Args:
        pair: the pair as ONNX files.
        items: inputs on which the models deviate.
        ordinary: further inputs, as they come: ranges are measured on all.

    Raises:
        UserError: there is nothing to repair, or the files do not fit together.
    """
    params = pair.vetted.params
    nodes = match_nodes(open_graphs(pair.original, pair.compressed))
    if not nodes.nodes:
        raise UserError(
            f"nothing is to exchange: no node of {Path(params.compressed).name} has fewer bits or "
            f"other weights than the node of {Path(params.original).name} that it stands for"
        )
    most = count_allowed_floats(len(nodes.nodes), params.repair.float_share)
    return build_repair_curve(
        nodes,
        pair.runs(items),
        pair.deviation(),
        params.repair.evaluations,
        most,
        params.repair.gone,
        pair.runs(ordinary),
    )


def _best(curve: RepairCurve, gone: float, most: int) -> RepairedFile | None:
    """The smallest change that repairs enough, else the file that repairs most; None for none.

    Runtimes compute 8 bits faster than float, and 16 bits slower. So a file of 8 bits comes before
    one of 16 bits where it takes enough of the given deviations away, even if it is expected to
    take somewhat less of others.

    Args:
        curve: the files.
        gone: the share of the deviations that is enough.
        most: the number of nodes that may be in float.
    """
    within = [f for f in curve.files if len(f.floats) <= most and f.gone > 0]
    on_given = [f for f in within if f.bits <= _FAST and f.gone >= gone]
    enough = (
        curve.smallest(gone, most, bits=_FAST)
        or max(on_given, key=lambda f: (f.expected, -len(f.floats)), default=None)
        or curve.smallest(gone, most)
    )
    if enough is not None and (enough.floats or enough.finer):
        return enough
    return max(within, key=lambda f: (f.gone, -f.error, -len(f.floats)), default=None)


def _allowed(curve: RepairCurve, most: int) -> str:
    return f"with at most {most} of the {len(curve.pair.nodes)} quantised nodes in float"


def _too_little(curve: RepairCurve, gone: float, most: int, chosen: RepairedFile) -> str:
    which = "no file" if curve.smallest(gone, most) is None else f"no file of {_FAST} bits"
    return (
        f"{which} {_allowed(curve, most)} is expected to take {gone:.0%} of the deviations away. "
        f"This one takes {chosen.gone:.0%} of those that it was made by, and "
        f"{max(0.0, chosen.expected):.0%} are expected of others"
    )


def _write_curve(curve: RepairCurve, one: Run, folder: Path) -> None:
    """Write ``curve.csv``: a row for each file, with its latency for one input."""
    import polars as pl

    points = {
        "nodes_in_float": [len(file.floats) for file in curve.files],
        "nodes_with_finer_scales": [len(file.finer) for file in curve.files],
        "bits": [file.bits for file in curve.files],
        "bytes": [file.size for file in curve.files],
        "nodes_with_finest_weights": [len(file.finest) for file in curve.files],
        "gone": [file.gone for file in curve.files],
        "expected": [file.expected for file in curve.files],
        "error": [file.error for file in curve.files],
        "milliseconds": [1e3 * measure_latency(file.content, one) for file in curve.files],
    }
    write_table(folder / "curve.csv", pl.DataFrame(points, strict=False))
