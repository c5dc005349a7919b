"""What a model's outputs must be, and what each element of them may be off.

Every subject is judged by it: generated models, files, and calls of functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.adapters.backends import REFERENCES
from asterism.differential.adapters.reference import STEP
from asterism.differential.engine.tolerance import Tolerance
from asterism.differential.oracle.compare import (
    DIFFERENCES,
    Difference,
    Moved,
    bounds,
    first_difference,
    spreads_by_rounding,
    tolerance_for,
)
from asterism.differential.oracle.special_values import Probes
from asterism.memo.universe.tensors import EPSILON

Arrays = Sequence[NDArray[Any]]


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
        allowed = self.tolerance_for(backend)
        free = backend in REFERENCES or not self.dtypes
        dtypes = [str(array.dtype) for array in outputs] if free else self.dtypes
        kinds = ["uint8" if dtype == "bool" else dtype for dtype in dtypes]
        probes = None if strictly else self.probes
        numbers, spreads = _numbers(outputs), self.spreads(allowed)
        each = [
            first_difference(numbers, _numbers(reference), kinds, spreads, allowed, probes)
            for reference in self.references.values()
        ]
        return None if None in each else min(each, key=distance)

    def allowed(self, backend: str = "") -> list[NDArray[np.float64]]:
        """What each element of what is expected may be off; infinity where nothing decides."""
        limit = self.tolerance_for(backend)
        pairs = enumerate(zip(_numbers(self.expected), self.spreads(limit), strict=True))
        return [bounds(at, array, spread, limit, self.probes) for at, (array, spread) in pairs]

    def tolerance_for(self, backend: str) -> Tolerance:
        """What a backend may be off."""
        return tolerance_for(backend, self.tolerance) if backend else self.tolerance

    def spreads(self, tolerance: Tolerance) -> list[float]:
        """How far rounding moves each output, see :func:`spreads_of`."""
        if tolerance not in self._spreads:
            moved = self.moved if self.base is not None else {}
            base = self.expected if self.base is None else self.base
            self._spreads[tolerance] = spreads_of(base, moved, tolerance)
        return self._spreads[tolerance]


def spreads_of(base: Arrays, moved: Moved, tolerance: Tolerance) -> list[float]:
    """How far rounding moves each output at most.

    A step of quantisation counts once, where rounding counts as often as ``conditioning`` says.

    Args:
        base: the float64 run.
        moved: perturbed runs, by the dtype of their rounding.
        tolerance: whose dtype's rounding counts beside float32's.
    """
    numbers = {dtype: [_numbers(run) for run in runs] for dtype, runs in moved.items()}
    stepped = {"float32": numbers.pop(STEP, [])}
    rounding = spreads_by_rounding(_numbers(base), numbers, tolerance.epsilon)
    steps = spreads_by_rounding(_numbers(base), stepped, tolerance.epsilon)
    share = tolerance.conditioning * max(tolerance.epsilon / EPSILON["float32"], 1.0)
    return [max(r, s / share) for r, s in zip(rounding, steps, strict=True)]


def distance(difference: Difference | None) -> tuple[int, float]:
    """How far off: by the kind of difference first, then by its size."""
    assert difference is not None
    return -DIFFERENCES.index(difference.kind), difference.excess


def _numbers(arrays: Arrays) -> list[NDArray[Any]]:
    """Truth values as numbers, which can be subtracted."""
    return [a.astype(np.uint8) if a.dtype == bool else a for a in arrays]
