"""Items of floating-point numbers: changes of any size, and bounds that rounding keeps."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.dflare.bounds import Bound, Box
from asterism.dflare.domains import Domain, Items, shrink_difference
from asterism.dflare.params import BoundParams

#: References whose ranges are computed at a time; float64 copies of all would take much memory.
_ROWS = 32


class FloatDomain(Domain):
    """Items of floating-point numbers, whose difference to a reference can be made smaller."""

    @abstractmethod
    def reach(self, limit: float) -> NDArray[np.float64]:
        """The largest change of each number within a limit of L∞, broadcast to items."""

    @abstractmethod
    def shares_within(
        self, items: Items, references: Items, measure: str, limit: float
    ) -> NDArray[np.float64]:
        """The share of each item's difference that lies within a limit of another measure than L∞.

        Returns:
            float64 ``(n,)``, from [0, 1].
        """

    def fade(self, items: Items, references: Items, share: NDArray[np.float64]) -> Items:
        """See :meth:`Domain.fade`."""
        return shrink_difference(items, references, share).astype(items.dtype)

    def bound_around(self, references: Items, chosen: BoundParams) -> Bound:
        """See :meth:`Domain.bound_around`; L∞ clips each number."""
        if chosen.measure != "linf":
            return super().bound_around(references, chosen)
        reach = self.reach(chosen.limit)
        low, high = np.empty_like(references), np.empty_like(references)
        for start in range(0, len(references), _ROWS):
            rows = slice(start, start + _ROWS)
            own = references[rows]
            low[rows] = round_towards(own - reach, own, reach)
            high[rows] = round_towards(own + reach, own, reach)
        return Box(low, high)

    def project(self, items: Items, references: Items, measure: str, limit: float) -> Items:
        """See :meth:`Domain.project`; of other measures than L∞, which scale the difference."""
        share = self.shares_within(items, references, measure, limit)
        nearer = shrink_difference(items, references, share)
        return round_towards(nearer, references, np.abs(nearer - references))


def round_towards(
    values: NDArray[np.float64], references: NDArray[Any], farthest: NDArray[np.float64]
) -> NDArray[Any]:
    """The values in the references' floating dtype, none farther away after rounding.

    Args:
        values: float64 ``(n, ...)``.
        references: floating ``(n, ...)``.
        farthest: the largest difference that is allowed for each value, float64, broadcast to them.
    """
    rounded = values.astype(references.dtype)
    beyond = np.abs(np.subtract(rounded, references, dtype=np.float64)) > farthest
    kept: NDArray[Any] = np.nextafter(rounded, np.where(beyond, references, rounded))
    return kept
