"""What a model's outputs must be, and what each element of them may be off.

Every subject is judged by it: generated models, files, and calls of functions. Outputs are compared
with float64 references, and rounding says how far they may move.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.adapters.backend_names import INDEPENDENT, REFERENCES, precision_of
from asterism.differential.oracle.special_values import FiniteProbes
from asterism.differential.params import Tolerance
from asterism.differential.reference.runs import PROBED, STEP, ReferenceRuns
from asterism.memo.universe.tensors import EPSILON

Arrays = Sequence[NDArray[Any]]

#: Outputs of perturbed float64 runs, by the dtype whose rounding moves their inputs and weights.
Moved = Mapping[str, Sequence[Arrays]]

#: Kinds of difference, the worst first.
DIFFERENCES = WRONG_SHAPE, WRONG_DTYPE, MASK_DIFFERS, VALUES_DIFFER = (
    "wrong shape",
    "wrong dtype",
    "NaN/Inf mask differs",
    "values differ",
)


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


def find_difference(
    actual: NDArray[Any], expected: NDArray[Any], tolerance: NDArray[Any], dtype: str
) -> tuple[str, float] | None:
    """The worst kind of difference of an output from a float64 reference; None where they agree.

    With it comes how far off the output is, see :class:`Difference`.
    """
    if actual.shape != expected.shape:
        return WRONG_SHAPE, 0.0
    if str(actual.dtype) != dtype:
        return WRONG_DTYPE, 0.0
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
        return MASK_DIFFERS, float((wrong & judged).sum())
    return (VALUES_DIFFER, excess) if excess > 1 else None


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
                gaps = zip(found, map(_farthest, base, run), strict=True)
                found = [max(before, far / scale) for before, far in gaps]
    return found


def _farthest(reference: NDArray[Any], moved: NDArray[Any]) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        # Small and unsigned integers would wrap.
        values = np.abs(moved.astype(np.float64) - reference)
        counted = np.isfinite(values) & (np.abs(reference) <= np.finfo(np.float32).max)
    return float(values[counted].max(initial=0.0))


#: Roundings per layer, and multiple of the movement, of a backend that rounds to a coarser dtype:
#: it still adds up in float32, so that few roundings are coarse ones.
_COARSE_ULPS, _COARSE_CONDITIONING = 8.0, 2.0


def tolerance_for(backend: str, tolerance: Tolerance) -> Tolerance:
    """What a backend may differ by: more than others where it rounds to a coarser dtype.

    Args:
        backend: ``library:option``; nothing for one that rounds to the model's own dtype.
        tolerance: for backends that round to the model's own dtype.
    """
    precision = precision_of(backend) if backend else None
    if precision is None or EPSILON[precision] <= tolerance.epsilon:
        return tolerance
    ulps = min(tolerance.ulps, _COARSE_ULPS)
    conditioning = min(tolerance.conditioning, _COARSE_CONDITIONING)
    return Tolerance(ulps, conditioning, EPSILON[precision], tolerance.depth)


@dataclass(frozen=True)
class ReferenceOutputs:
    """What outputs are compared with, for one kind of inputs. Truth values count as 0 and 1.

    Args:
        references: runs by name, each of which may be right; scripts expect the first one's.
        dtypes: the dtypes that each output must have; none where any are right.
        tolerance: the tolerance of backends that round to the model's own dtype.
        base: the run that rounding moves; None where that was not measured.
        moved: that run with inputs and weights off by rounding, by the rounding's dtype.
        probes: what tells which elements are judged where inputs are special; None: all are.
    """

    references: Mapping[str, Arrays]
    dtypes: Sequence[str]
    tolerance: Tolerance
    base: Arrays | None = None
    moved: Moved = field(default_factory=dict)
    probes: FiniteProbes | None = None
    _spreads: dict[Tolerance, list[float]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        outputs: Mapping[str, Mapping[str, Arrays]],
        distribution: str,
        runs: ReferenceRuns,
        dtypes: Sequence[str],
        tolerance: Tolerance,
        of_weights: Iterable[str] = (),
        *,
        by_letter: bool = False,
    ) -> ReferenceOutputs | None:
        """The standard among the outputs of all backends; None where no reference ran.

        Args:
            outputs: by backend and kind of inputs.
            distribution: the inputs.
            runs: names of the runs.
            dtypes: that each output must have; those of another number of outputs say nothing.
            tolerance: of backends that round to the model's own dtype.
            of_weights: kinds of the special numbers among the weights.
            by_letter: see :class:`FiniteProbes`.
        """
        given = {b: kinds[distribution] for b, kinds in outputs.items() if distribution in kinds}
        references = {name: given[name] for name in runs.references if name in given}
        if not references:
            return None
        moved = {
            dtype: [given[name] for name in names if name in given]
            for dtype, names in runs.perturbed.items()
        }
        kinds = tuple(k for k in PROBED if k == distribution or k in of_weights)
        high, low = ([*given.get(name, ())] for name in runs.probes)
        probes = FiniteProbes(kinds, high, low, by_letter)
        has_probes = bool(kinds) and set(runs.probes) <= given.keys() and len(high) == len(low)
        base = given.get(runs.right)
        found = cls(references, dtypes, tolerance, base, moved, probes if has_probes else None)
        return found if len(dtypes) == len(found.expected) else replace(found, dtypes=())

    @property
    def expected(self) -> Arrays:
        """The right outputs."""
        return next(iter(self.references.values()))

    def off(
        self, outputs: Arrays, backend: str = "", *, strictly: bool = False
    ) -> Difference | None:
        """The difference of outputs from the closest reference; None if a reference explains all.

        Args:
            outputs: what a backend gave.
            backend: which: it may round to a coarser dtype than the model's, or be a reference,
                whose dtypes are its own.
            strictly: whether what nothing decides counts too.
        """
        free = backend in REFERENCES or not self.dtypes
        dtypes = [str(array.dtype) for array in outputs] if free else self.dtypes
        limit, each = tolerance_for(backend, self.tolerance), []
        for reference in self.references.values():
            found = self._first(outputs, reference, dtypes, limit, strictly)
            if found is None:
                return None
            each.append(found)
        return min(each, key=lambda d: distance(d.kind, d.excess))

    def _first(
        self,
        outputs: Arrays,
        reference: Arrays,
        dtypes: Sequence[str],
        limit: Tolerance,
        strictly: bool,
    ) -> Difference | None:
        """The worst kind of difference over all outputs, or None where all agree."""
        if len(outputs) != len(reference):
            return Difference(WRONG_SHAPE, min(len(outputs), len(reference)), 0.0)
        found = []
        pairs = zip(_numbers(outputs), _numbers(reference), dtypes, strict=True)
        for at, (output, wanted, dtype) in enumerate(pairs):
            allowed = self._bounds(at, wanted, limit, output, strictly)
            kind = find_difference(output, wanted, allowed, "uint8" if dtype == "bool" else dtype)
            found += [] if kind is None else [Difference(kind[0], at, kind[1])]
        return min(found, key=lambda d: (DIFFERENCES.index(d.kind), d.output), default=None)

    def _bounds(
        self,
        at: int,
        reference: NDArray[Any],
        limit: Tolerance,
        output: NDArray[Any] | None = None,
        strictly: bool = False,
    ) -> NDArray[np.float64]:
        """What each element of a reference may be off; infinity where nothing decides.

        Args:
            at: number of the output.
            reference: the float64 run.
            limit: what may differ.
            output: what is judged; None for what holds whatever came.
            strictly: whether what nothing decides counts too.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            allowed = limit.of(reference, self.spreads(limit)[at])
        if self.probes is None or strictly:
            return allowed
        return np.where(self.probes.is_open(at, reference, allowed, output), np.inf, allowed)

    def allowed(self, backend: str = "") -> list[NDArray[np.float64]]:
        """What each element of what is expected may be off; infinity where nothing decides."""
        limit = tolerance_for(backend, self.tolerance)
        return [self._bounds(at, a, limit) for at, a in enumerate(_numbers(self.expected))]

    def spreads(self, tolerance: Tolerance) -> list[float]:
        """How far rounding moves each output, see :func:`spreads_of`."""
        if tolerance not in self._spreads:
            base = self.expected if self.base is None else self.base
            moved = self.moved if self.base is not None else {}
            numbers = {dtype: [_numbers(run) for run in runs] for dtype, runs in moved.items()}
            self._spreads[tolerance] = spreads_of(_numbers(base), numbers, tolerance)
        return self._spreads[tolerance]

    def by_majority(self) -> ReferenceOutputs:
        """The standard of the references that most agree with; of all if no two agree.

        Two references agree where they differ by no more than the model's own dtype may: what a
        library rounds in between to float32 is no disagreement. Of groups of the same size the one
        with more of the independent references counts.
        """
        given = self.references
        groups = [[r for r in given if self._agree(given[r], given[c])] for c in given]
        best = max(groups, key=lambda g: (len(g), len(set(g) & set(INDEPENDENT))))
        if len(best) < 2:
            return self
        return replace(self, references={r: given[r] for r in best})

    def _agree(self, one: Arrays, other: Arrays) -> bool:
        """Whether two references agree in all that is decided by what either of them says."""
        if [a.shape for a in one] != [b.shape for b in other]:
            return False
        for at, (a, b) in enumerate(zip(_numbers(one), _numbers(other), strict=True)):
            allowed = self._bounds(at, b, self.tolerance, a)
            if self.probes is not None:
                allowed = np.minimum(allowed, self._bounds(at, a, self.tolerance, b))
            if find_difference(a, b, allowed, str(a.dtype)) is not None:
                return False
        return True


def _numbers(arrays: Arrays) -> list[NDArray[Any]]:
    """Truth values as numbers, which can be subtracted."""
    return [a.astype(np.uint8) if a.dtype == bool else a for a in arrays]


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
