"""Dflare's fitness as its paper has it: a mutant is new if no observed outputs are near its own.

O(x) is 1 where no pair of outputs ``(f, g)`` that the trajectory has observed lies within a
threshold of x's own (Tian et al., section 3.3.2). The paper states no threshold.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.dflare.fitness import FITNESSES, Fitness, Gains, Outputs, Rows

#: Outputs that are compared with all observed ones at once.
_AT_ONCE = 256


@FITNESSES.register("nearest_neighbour")
class NearestNeighbour(Fitness):
    """A larger D by more than delta, or an equal one (within delta) with unobserved outputs."""

    def __init__(self, trajectories: int, delta: float, novelty: float = 0.0) -> None:
        super().__init__(trajectories, delta, novelty)
        self._observed: dict[int, list[Outputs]] = {}

    def start(self, trajectories: Rows, outputs: Outputs) -> None:
        """See :meth:`Fitness.start`."""
        self._add(trajectories, outputs)

    def replaces(self, owners: Rows, gains: Gains, outputs: Outputs) -> NDArray[np.bool_]:
        """See :meth:`Fitness.replaces`."""
        equal = np.abs(gains) <= self.delta
        return (gains > self.delta) | (equal & self._unobserved(owners, outputs))

    def observe(self, owners: Rows, gains: Gains, outputs: Outputs) -> None:
        """See :meth:`Fitness.observe`."""
        self._add(owners, outputs)

    def _add(self, owners: Rows, outputs: Outputs) -> None:
        for owner in np.unique(owners).tolist():
            self._observed.setdefault(owner, []).append(outputs[owners == owner])

    def _unobserved(self, owners: Rows, outputs: Outputs) -> NDArray[np.bool_]:
        """O(x): farther than ``novelty`` from all observed outputs, and from earlier rows."""
        from scipy.spatial.distance import cdist  # here, because other fitnesses need none of it

        found = np.zeros(len(owners), np.bool_)
        for owner in np.unique(owners).tolist():
            (rows,) = np.nonzero(owners == owner)
            own, observed = outputs[rows], np.concatenate(self._observed[owner])
            for start in range(0, len(rows), _AT_ONCE):
                part = own[start : start + _AT_ONCE]
                far = (cdist(part, observed) > self.novelty).all(axis=1)
                earlier = cdist(part, own[: start + len(part)]) <= self.novelty
                before = np.arange(earlier.shape[1]) < start + np.arange(len(part))[:, np.newaxis]
                found[rows[start : start + len(part)]] = far & ~(earlier & before).any(axis=1)
        return found


@FITNESSES.register("formula")
class FormulaFitness(NearestNeighbour):
    """H(x) = D(x) / delta + O(x), at least as large as that of the best (Algorithm 1, line 6)."""

    unchanged_may_replace: ClassVar[bool] = True

    def __init__(self, trajectories: int, delta: float, novelty: float = 0.0) -> None:
        super().__init__(trajectories, delta, novelty)
        #: O of each trajectory's best; its seed was unobserved.
        self._of_best = np.ones(trajectories)

    def replaces(self, owners: Rows, gains: Gains, outputs: Outputs) -> NDArray[np.bool_]:
        """See :meth:`Fitness.replaces`."""
        return self._at_least(owners, gains, self._unobserved(owners, outputs))

    def observe(self, owners: Rows, gains: Gains, outputs: Outputs) -> None:
        """See :meth:`Fitness.observe`."""
        unobserved = self._unobserved(owners, outputs)
        replacing = self._at_least(owners, gains, unobserved)
        self._of_best[owners[replacing]] = unobserved[replacing]
        self._add(owners, outputs)

    def _at_least(
        self, owners: Rows, gains: Gains, unobserved: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        more: NDArray[np.bool_] = gains + self.delta * (unobserved - self._of_best[owners]) >= 0
        return more
