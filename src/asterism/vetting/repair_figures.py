"""What came of a repair: parts to blame, the repaired model, and how it does on other inputs.

Its figures also say how long a model takes for one input, and how large its file is.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from asterism.core.files.artifacts import write_table
from asterism.core.files.records import record_as_json
from asterism.core.statistics import Share
from asterism.dflare.pair import Model
from asterism.localisation.localising import RankedNode
from asterism.localisation.tensor_errors import TensorError
from asterism.vetting.agreement import Agreement
from asterism.vetting.kept_answers import KeptAnswers
from asterism.vetting.measurement import FlipCounts
from asterism.vetting.verdict import ThresholdCheck

#: Runs at least and at most, and seconds after which no further one is made.
_FEWEST, _MOST, _SECONDS = 5, 200, 0.5
#: What counts as slower: by so many milliseconds, and by so large a part.
_NOTICED_MS, _NOTICED = 0.2, 0.1


@dataclass(frozen=True)
class Speed:
    """One file's time and size.

    Attributes:
        file: ``original``, ``compressed`` or ``repaired``.
        bytes: the bytes of the file, or of a module's parameters; None where there are none.
        milliseconds: for one input, the median of several runs.
    """

    file: str
    bytes: int | None
    milliseconds: float

    def slower_than(self, other: Speed) -> bool:
        """Whether it takes noticeably longer."""
        least = other.milliseconds * (1 + _NOTICED) + _NOTICED_MS
        return self.milliseconds > least


def write_speeds(speeds: Sequence[Speed], folder: Path) -> None:
    """Write ``speed.csv`` into a folder."""
    import polars as pl

    write_table(folder / "speed.csv", pl.DataFrame([asdict(speed) for speed in speeds]))


def measure_speed(file: str, size: int | None, model: Model, items: NDArray[Any]) -> Speed:
    """Time a model on the first of some items; the first run does not count."""
    if isinstance(model, KeptAnswers):
        model = model.model
    model.predict(items[:1])
    taken: list[float] = []
    began = time.perf_counter()
    for run in range(_MOST):
        if run >= _FEWEST and time.perf_counter() - began >= _SECONDS:
            break
        started = time.perf_counter()
        model.predict(items[:1])
        taken.append(time.perf_counter() - started)
    return Speed(file, size, 1e3 * statistics.median(taken))


#: Parts of the ranking that the figures name.
_BLAMED = 5


@dataclass(frozen=True)
class JudgedRepair:
    """How a repaired model does on inputs that its repair has not seen.

    Attributes:
        gone_held_out: of the deviations on unseen inputs and of the new search.
        differ_before: of the compressed model on unseen inputs.
        agreement: the agreement of the repaired model on them.
        flips: the flips of the repaired model.
        new_search: by the search's name, shares of seeds with a triggering input, ``before`` and
            ``after`` the repair.
        criteria: the criteria of the verdict.
    """

    gone_held_out: Share
    differ_before: Share
    agreement: Agreement
    flips: Sequence[FlipCounts]
    new_search: dict[str, dict[str, Share]]
    criteria: Sequence[ThresholdCheck]

    @property
    def agreement_fell(self) -> bool:
        """Whether the repaired model agrees with the original on fewer unseen inputs."""
        return self.agreement.differ.count > self.differ_before.count

    @property
    def no_gain(self) -> str:
        """Why the repair gains nothing; empty where it does."""
        if self.gone_held_out.total and not self.gone_held_out.count:
            return "the best file takes none of the deviations away"
        before = self.differ_before.count
        if before and self.agreement.differ.count >= before:
            return "the best file makes as many new deviations as it takes away"
        return ""


@dataclass(frozen=True, kw_only=True)
class RepairFigures:
    """The result of a repair; values that do not exist are None.

    Attributes:
        reason: why there is no repair, or why it is not enough.
        quantised_nodes: nodes or modules that can be exchanged.
        evaluations: candidates that ran.
        deviating_inputs: that candidates were judged by.
        blamed: the parts to blame, the most to blame first.
        nodes_in_float: of the repaired model.
        float_share: these as a share of the quantised ones.
        nodes_with_finer_scales, bits, nodes_with_finest_weights, expected: of a repaired ONNX
            file, see :class:`~asterism.localisation.repair.RepairedFile`.
        kept_in_float: names of modules of PyTorch that the repaired model has in float.
        with_finer_scales: names of those whose weights have a scale for each channel instead.
        applied_by: see :class:`~asterism.vetting.module_pairs.PartExchange`.
        gone: share of the deviations that is gone on the inputs that the repair was made by.
        bytes: the bytes of the repaired model.
        bytes_before: of the compressed one.
        bytes_original: of the original.
        sha256: of the repaired file.
        slower: whether the repaired model is noticeably slower than the original.
        judged: on inputs that the repair has not seen.
    """

    reason: str | None = None
    quantised_nodes: int | None = None
    evaluations: int | None = None
    deviating_inputs: int | None = None
    blamed: Sequence[RankedNode] | None = None
    nodes_in_float: int | None = None
    float_share: float | None = None
    nodes_with_finer_scales: int | None = None
    bits: int | None = None
    nodes_with_finest_weights: int | None = None
    expected: float | None = None
    kept_in_float: list[str] | None = None
    with_finer_scales: list[str] | None = None
    applied_by: str | None = None
    gone: float | None = None
    bytes: int | None = None
    bytes_before: int | None = None
    bytes_original: int | None = None
    sha256: str | None = None
    slower: bool | None = None
    judged: JudgedRepair | None = None

    def to_json(self) -> dict[str, Any]:
        """The figures as a JSON value, those of the judgement among them."""
        values = record_as_json(replace(self, blamed=None, judged=None))
        found = {name: value for name, value in values.items() if value is not None}
        if self.blamed is not None:
            found["blamed"] = [
                {"node": part.node, "operator": part.operator, "explained": part.explained}
                for part in self.blamed[:_BLAMED]
            ]
        if self.judged is not None:
            found["agreement_fell"] = self.judged.agreement_fell
            found |= record_as_json(self.judged)
        return found


def write_localisation(
    ranking: Sequence[RankedNode], errors: Sequence[TensorError], folder: Path
) -> None:
    """Write ``ranking.csv`` and ``tensors.csv``: a row for each part, and for each tensor."""
    import polars as pl

    names = [one.name for one in fields(RankedNode) if one.name != "index"]
    parts = {name: [getattr(part, name) for part in ranking] for name in names}
    write_table(folder / "ranking.csv", pl.DataFrame(parts, strict=False))
    columns = {
        "tensor": [error.tensor for error in errors],
        "node": [error.node for error in errors],
        "operator": [error.operator for error in errors],
        "sqnr_db": [error.cumulative.sqnr_db for error in errors],
        "relative_l2": [error.cumulative.relative_l2 for error in errors],
        "largest": [error.cumulative.largest for error in errors],
        "own_relative_l2": [None if e.own is None else e.own.relative_l2 for e in errors],
    }
    write_table(folder / "tensors.csv", pl.DataFrame(columns, strict=False))
