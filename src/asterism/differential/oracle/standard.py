"""What a model's outputs must be, and what each element of them may be off.

Every subject is judged by it: generated models, files, and calls of functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.adapters.backends import INDEPENDENT, REFERENCES
from asterism.differential.engine.tolerance import Tolerance
from asterism.differential.oracle.compare import (
    DIFFERENCES,
    Arrays,
    Difference,
    Moved,
    difference,
    distance,
    spreads_of,
    tolerance_for,
)
from asterism.differential.oracle.special_values import Probes


@dataclass(frozen=True)
class Standard:
    """What outputs are compared with, for one kind of inputs. Truth values count as 0 and 1.

    Args:
        references: runs by name, each of which may be right; scripts expect the first one's.
        dtypes: that each output must have; none where any are right.
        tolerance: of backends that round to the model's own dtype.
        base: the run that rounding moves; None where that was not measured.
        moved: that run with inputs and weights off by rounding, by the rounding's dtype.
        probes: what tells which elements are judged where inputs are special; None: all are.
    """

    references: Mapping[str, Arrays]
    dtypes: Sequence[str]
    tolerance: Tolerance
    base: Arrays | None = None
    moved: Moved = field(default_factory=dict)
    probes: Probes | None = None
    _spreads: dict[Tolerance, list[float]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def expected(self) -> Arrays:
        """What is right."""
        return next(iter(self.references.values()))

    def off(
        self, outputs: Arrays, backend: str = "", *, strictly: bool = False
    ) -> Difference | None:
        """How outputs are off the closest reference; None where one of them explains all.

        Args:
            outputs: what a backend gave.
            backend: which: it may round to a coarser dtype than the model's, or be a reference,
                whose dtypes are its own.
            strictly: whether what nothing decides counts too.
        """
        free = backend in REFERENCES or not self.dtypes
        dtypes = [str(array.dtype) for array in outputs] if free else self.dtypes
        limit, each = self.tolerance_for(backend), []
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
            return Difference("wrong shape", min(len(outputs), len(reference)), 0.0)
        found = []
        pairs = zip(_numbers(outputs), _numbers(reference), dtypes, strict=True)
        for at, (output, wanted, dtype) in enumerate(pairs):
            allowed = self._bounds(at, wanted, limit, output, strictly)
            kind = difference(output, wanted, allowed, "uint8" if dtype == "bool" else dtype)
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
        limit = self.tolerance_for(backend)
        return [self._bounds(at, a, limit) for at, a in enumerate(_numbers(self.expected))]

    def tolerance_for(self, backend: str) -> Tolerance:
        """What a backend may be off."""
        return tolerance_for(backend, self.tolerance) if backend else self.tolerance

    def spreads(self, tolerance: Tolerance) -> list[float]:
        """How far rounding moves each output, see :func:`~.compare.spreads_of`."""
        if tolerance not in self._spreads:
            base = self.expected if self.base is None else self.base
            moved = self.moved if self.base is not None else {}
            numbers = {dtype: [_numbers(run) for run in runs] for dtype, runs in moved.items()}
            self._spreads[tolerance] = spreads_of(_numbers(base), numbers, tolerance)
        return self._spreads[tolerance]

    def by_majority(self) -> Standard:
        """The same with those references alone that most agree with; with all if there is no two.

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
            if difference(a, b, allowed, str(a.dtype)) is not None:
                return False
        return True


def _numbers(arrays: Arrays) -> list[NDArray[Any]]:
    """Truth values as numbers, which can be subtracted."""
    return [a.astype(np.uint8) if a.dtype == bool else a for a in arrays]
