"""How often each value of a neuron occurred, in memory that does not grow with the inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Most values other than 0 that are told apart.
CELLS = 1 << 16


class Histogram:
    """Counts of values, exact for zeros and up to ``CELLS`` other different ones.

    Beyond that values share cells: the line is cut at multiples of the smallest power of two with
    which at most ``CELLS`` cells are occupied, and a cell keeps its count and its mean. Cells of
    one width lie within those of the next, so the result does not depend on the order of the
    values. Zeros, which inactive neurons give, never share a cell.
    """

    def __init__(self) -> None:
        self._zeros = 0
        self._values: Floats = np.empty(0)
        self._counts: Floats = np.empty(0)
        self._exponent: int | None = None  # of the cells' width; None: every value is its own
        self._waiting: list[Floats] = []

    def add(self, values: NDArray[np.float32]) -> None:
        """Count values ``(N,)``."""
        others = values[values != 0].astype(np.float64)
        self._zeros += len(values) - len(others)
        self._waiting.append(others)
        if sum(map(len, self._waiting)) >= CELLS:
            self._settle()

    def values(self) -> Floats:
        """Different values (or the means of cells), ascending."""
        self._settle()
        return self._with_zeros(self._values, 0.0)

    def counts(self) -> Floats:
        """How often each of :meth:`values` occurred."""
        self._settle()
        return self._with_zeros(self._counts, self._zeros)

    def _with_zeros(self, numbers: Floats, zeros: float) -> Floats:
        """A number for each of the other values, and one for the zeros in their place."""
        return (
            np.insert(numbers, np.searchsorted(self._values, 0), zeros) if self._zeros else numbers
        )

    def _settle(self) -> None:
        if not self._waiting:
            return
        values = np.concatenate([self._values, *self._waiting])
        counts = np.concatenate([self._counts, np.ones(len(values) - len(self._counts))])
        self._waiting.clear()
        different, group = np.unique(values, return_inverse=True)
        if self._exponent is None and len(different) > CELLS:
            self._exponent = _first_exponent(different)
        if self._exponent is None:
            self._values, self._counts = different, _summed(group, counts)
            return
        while True:
            cells, group = np.unique(_cells(values, self._exponent), return_inverse=True)
            if len(cells) <= CELLS:
                break
            self._exponent += 1
        self._counts = _summed(group, counts)
        means = _summed(group, counts * values) / self._counts
        # Rounding must not carry a mean out of its cell.
        low, high = (np.ldexp(cells + end, self._exponent) for end in (0, 1))
        self._values = np.clip(means, low, np.nextafter(high, low))


def _summed(groups: NDArray[np.int64], numbers: Floats) -> Floats:
    """Sums of the numbers of each group."""
    sums: Floats = np.bincount(groups, numbers).astype(np.float64)
    return sums


def _first_exponent(different: Floats) -> int:
    """Exponent of the smallest power of two that cuts values into few enough cells."""
    exponent = int(np.ceil(np.log2((different[-1] - different[0]) / CELLS))) + 1
    while len(np.unique(_cells(different, exponent - 1))) <= CELLS:
        exponent -= 1
    return exponent


def _cells(values: Floats, exponent: int) -> Floats:
    """Numbers of the cells of width ``2 ** exponent`` that values lie in; exact."""
    numbers: Floats = np.floor(np.ldexp(values, -exponent))
    return numbers
