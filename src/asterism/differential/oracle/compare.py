"""Comparing outputs: tolerances that follow the dtype, the depth and the model's conditioning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.adapters.backends import precision_of
from asterism.differential.engine.tolerance import Tolerance
from asterism.differential.oracle.difference import difference
from asterism.differential.oracle.special_values import Probes
from asterism.memo.universe.tensors import EPSILON

#: Outputs of perturbed float64 runs, by the dtype whose rounding moves their inputs and weights.
Moved = Mapping[str, Sequence[Sequence[NDArray[Any]]]]

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


def spreads_by_rounding(
    reference: Sequence[NDArray[Any]], moved: Moved, epsilon: float
) -> list[float]:
    """How far rounding moves each output of the float64 run at most, scaled to float32's rounding.

    :meth:`Tolerance.of` multiplies by how much coarser the dtype of the outputs is. That is right
    for smooth functions. Where a function jumps nearby, the coarse rounding moves an output
    further, and the perturbed runs of the coarse dtype say how far.
    Elements too large for float32 are left out.

    Args:
        reference: the float64 run.
        moved: perturbed runs, by the dtype whose rounding they stand for; those of other shapes,
            which depend on values, say nothing.
        epsilon: of the coarsest dtype that the outputs are computed in.
    """
    found = [0.0] * len(reference)
    for dtype, runs in moved.items():
        if dtype != "float32" and EPSILON[dtype] != epsilon:
            continue
        coarser = EPSILON[dtype] / EPSILON["float32"]
        for run in runs:
            if [m.shape for m in run] == [r.shape for r in reference]:
                apart = zip(found, map(_farthest, reference, run), strict=True)
                found = [max(before, far / coarser) for before, far in apart]
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


def first_difference(
    outputs: Sequence[NDArray[Any]],
    reference: Sequence[NDArray[Any]],
    dtypes: Sequence[str],
    spreads: Sequence[float],
    tolerance: Tolerance,
    probes: Probes | None = None,
) -> Difference | None:
    """The worst kind of difference over all outputs, or None where all agree.

    Args:
        outputs: what a backend gave.
        reference: the float64 run.
        dtypes: dtype that each output must have.
        spreads: of each output, from :func:`spreads_by_rounding`.
        tolerance: what may differ.
        probes: what tells which elements are judged where inputs are special; None: all are.
    """
    if len(outputs) != len(reference):
        return Difference("wrong shape", min(len(outputs), len(reference)), 0.0)
    found = []
    for at, (out, ref, dtype, spread) in enumerate(
        zip(outputs, reference, dtypes, spreads, strict=True)
    ):
        kind = difference(out, ref, bounds(at, ref, spread, tolerance, probes, out), dtype)
        found += [] if kind is None else [Difference(kind[0], at, kind[1])]
    return min(found, key=lambda d: (DIFFERENCES.index(d.kind), d.output), default=None)


def bounds(
    at: int,
    reference: NDArray[Any],
    spread: float,
    tolerance: Tolerance,
    probes: Probes | None,
    output: NDArray[Any] | None = None,
) -> NDArray[np.float64]:
    """What each element of a reference may be off; infinity where nothing decides.

    Args:
        at: number of the output.
        reference: the float64 run.
        spread: from :func:`spreads_by_rounding`.
        tolerance: what may differ.
        probes: of special inputs; None where there are none.
        output: what is judged; None for what holds whatever came.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        allowed = tolerance.of(reference, spread)
    if probes is None:
        return allowed
    return np.where(probes.is_open(at, reference, allowed, output), np.inf, allowed)


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
