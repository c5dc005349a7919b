"""How an output differs from a float64 reference, and how far rounding may move it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.adapters.backends import precision_of
from asterism.differential.adapters.reference import STEP
from asterism.differential.engine.tolerance import Tolerance
from asterism.memo.universe.tensors import EPSILON

Arrays = Sequence[NDArray[Any]]

#: Outputs of perturbed float64 runs, by the dtype whose rounding moves their inputs and weights.
Moved = Mapping[str, Sequence[Arrays]]

#: Kinds of difference, the worst first.
DIFFERENCES = ("wrong shape", "wrong dtype", "NaN/Inf mask differs", "values differ")


@dataclass(frozen=True)
class Difference:
    """How an output differs from what it should be.

    Args:
        kind: one of :data:`DIFFERENCES`.
        output: which output of the model.
        excess: how far off. Of values the worst deviation as a multiple of its tolerance, of
            a NaN/Inf mask the number of its elements that differ, 0 of shapes and dtypes.
    """

    kind: str
    output: int
    excess: float


def distance(kind: str, excess: float) -> tuple[int, float]:
    """How far off an output is: by the kind of difference first, then by its size."""
    return -DIFFERENCES.index(kind), excess


def difference(
    actual: NDArray[Any], expected: NDArray[Any], tolerance: NDArray[Any], dtype: str
) -> tuple[str, float] | None:
    """The worst kind of difference of an output from a float64 reference; None where they agree.

    With it comes how far off the output is, see :class:`Difference`.
    """
    if actual.shape != expected.shape:
        return "wrong shape", 0.0
    if str(actual.dtype) != dtype:
        return "wrong dtype", 0.0
    with np.errstate(all="ignore"):
        # What is finite in float64 may be too large for the dtype: no library is to blame.
        # Nor is one where nothing decides what is right, so that any deviation is tolerated.
        largest = np.finfo(actual.dtype).max if actual.dtype.kind == "f" else np.inf
        judged = ~(np.isfinite(expected) & (np.abs(expected) > largest / 4)) & (tolerance < np.inf)
        wrong = np.isnan(actual) != np.isnan(expected)
        wrong |= np.isinf(actual) != np.isinf(expected)
        wrong |= np.isinf(expected) & ((actual > 0) != (expected > 0))
        compared = judged & np.isfinite(actual) & np.isfinite(expected)
        deviation = np.where(compared, np.abs(actual.astype("float64") - expected), 0.0)
        excess = float(np.max(deviation / tolerance, initial=0.0))
    if (wrong & judged).any():
        return "NaN/Inf mask differs", float((wrong & judged).sum())
    return ("values differ", excess) if excess > 1 else None


def spreads_of(base: Arrays, moved: Moved, tolerance: Tolerance) -> list[float]:
    """How far rounding moves each output of a float64 run at most, scaled to float32's rounding.

    :meth:`Tolerance.of` multiplies by how much coarser the dtype of the outputs is. That is right
    for smooth functions. Where a function jumps nearby, the coarse rounding moves an output
    further, and the perturbed runs of the coarse dtype say how far. A step of quantisation counts
    once, where rounding counts as often as ``conditioning`` says. Elements too large for float32
    are left out.

    Args:
        base: the run.
        moved: perturbed runs, by the dtype whose rounding they stand for; those of other shapes,
            which depend on values, say nothing.
        tolerance: whose dtype's rounding counts beside float32's.
    """
    coarser = tolerance.epsilon / EPSILON["float32"]
    scales = {dtype: coarser for dtype, e in EPSILON.items() if e == tolerance.epsilon}
    scales |= {"float32": 1.0, STEP: tolerance.conditioning * max(coarser, 1.0)}
    found = [0.0] * len(base)
    for dtype, scale in scales.items():
        for run in moved.get(dtype, ()):
            if [m.shape for m in run] == [b.shape for b in base]:
                apart = zip(found, map(_farthest, base, run), strict=True)
                found = [max(before, far / scale) for before, far in apart]
    return found


def moved_of(
    outputs: Mapping[str, Mapping[str, Sequence[NDArray[Any]]]],
    perturbed: Mapping[str, Sequence[str]],
    distribution: str,
) -> Moved:
    """The outputs of the perturbed runs that ran, by the dtype of their rounding.

    Args:
        outputs: by backend and distribution.
        perturbed: the perturbed runs' backends, by dtype.
        distribution: the inputs.
    """
    return {
        dtype: [outputs[r][distribution] for r in runs if distribution in outputs.get(r, {})]
        for dtype, runs in perturbed.items()
    }


def _farthest(reference: NDArray[Any], moved: NDArray[Any]) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        # Small and unsigned integers would wrap.
        return _largest(np.abs(moved.astype(np.float64) - reference), reference)


def _largest(values: NDArray[Any], reference: NDArray[Any]) -> float:
    counted = values[np.isfinite(values) & (np.abs(reference) <= np.finfo(np.float32).max)]
    return float(counted.max()) if counted.size else 0.0


#: Roundings per layer, and multiple of the movement, of a backend that rounds to a coarser dtype:
#: it still adds up in float32, so that few roundings are coarse ones.
_COARSE_ULPS, _COARSE_CONDITIONING = 8.0, 2.0


def tolerance_for(backend: str, tolerance: Tolerance) -> Tolerance:
    """What a backend may differ by: more than others where it rounds to a coarser dtype.

    Args:
        backend: ``library:option``.
        tolerance: for backends that round to the model's own dtype.
    """
    precision = precision_of(backend)
    if precision is None or EPSILON[precision] <= tolerance.epsilon:
        return tolerance
    ulps = min(tolerance.ulps, _COARSE_ULPS)
    conditioning = min(tolerance.conditioning, _COARSE_CONDITIONING)
    return Tolerance(ulps, conditioning, EPSILON[precision], tolerance.depth)


def d_mad(first: NDArray[Any], second: NDArray[Any], target: NDArray[Any]) -> float:
    """CRADLE's D_MAD of two outputs for real targets (Pham et al., ICSE 2019, eq. 5 and 6).

    ``δ(O) = mean |O - target|`` and ``D_MAD = |δ(O1) - δ(O2)| / (δ(O1) + δ(O2))``. With targets
    of zeros, as released code had them, it sees neither sign nor order.
    """
    one = float(np.mean(np.abs(first.astype(np.float64) - target))) if first.size else 0.0
    two = float(np.mean(np.abs(second.astype(np.float64) - target))) if second.size else 0.0
    if not (np.isfinite(one) and np.isfinite(two)):
        return 0.0 if one == two or (np.isnan(one) and np.isnan(two)) else 1.0
    return abs(one - two) / (one + two) if one + two > 0 else 0.0
