"""A record of mutants that were tried in vain, so that they are not made again.

The same mutant of the same item does not replace this item at a second time either, nor is it a
new triggering input. A search that stays at one image soon knows all blurs of it, and a blur of
size 1 leaves the image as it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asterism.dflare.domains import UNCHANGED

Rows = NDArray[np.int64]


class FruitlessMutants:
    """Which mutants of its best each trajectory has tried in vain.

    Args:
        trajectories: how many there are.
        unchanged_may_replace: whether a best can be replaced by a mutant that is equal to it; if
            not, such a mutant is known without a try.
    """

    def __init__(self, trajectories: int, unchanged_may_replace: bool) -> None:
        self._unchanged_may_replace = unchanged_may_replace
        self._variants = np.empty(0, np.int64)  # ascending; each has a column of what was tried
        self._tried = np.zeros((trajectories, 0), np.bool_)

    def known(self, owners: Rows, variants: Rows) -> NDArray[np.bool_]:
        """Which mutants were tried in vain, or come a second time in this batch.

        Args:
            owners: the trajectory of each, int64 ``(n,)``, each one's in the order of its queries.
            variants: equal numbers are equal mutants of an item, below 0 that is not told,
                int64 ``(n,)``.
        """
        known = np.zeros(len(owners), np.bool_)
        told = np.flatnonzero(variants >= 0)
        if len(told):
            columns = self._columns(variants[told])
            places = owners[told] * len(self._variants) + columns
            known[told] = True
            first = np.unique(places, return_index=True)[1]
            known[told[first]] = self._tried.ravel()[places[first]]
        if not self._unchanged_may_replace:
            known |= variants == UNCHANGED
        return known

    def add(self, owners: Rows, variants: Rows) -> None:
        """Take in mutants that were tried in vain; arguments as for :meth:`known`."""
        told = np.flatnonzero(variants >= 0)
        self._tried[owners[told], self._columns(variants[told])] = True

    def forget(self, trajectories: Rows) -> None:
        """These trajectories have another best now."""
        self._tried[trajectories] = False

    def _columns(self, variants: Rows) -> Rows:
        """Where these variants stand in the table, which gets a column for each that is new."""
        places = np.searchsorted(self._variants, variants)
        if len(self._variants):
            new = self._variants.take(places, mode="clip") != variants
        else:
            new = np.ones(len(variants), np.bool_)
        if new.any():
            every = np.union1d(self._variants, variants[new])
            tried = np.zeros((len(self._tried), len(every)), np.bool_)
            tried[:, np.searchsorted(every, self._variants)] = self._tried
            self._variants, self._tried = every, tried
            places = np.searchsorted(every, variants)
        return places
