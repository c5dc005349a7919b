"""The ablation Dflare_D, which looks at D alone, by each reading of how it accepts a mutant.

The paper does not state which it is (section 5.3): its Algorithm 1 has "at least", its fitness
counts in units of delta, and the released code asks whether D has changed.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.dflare.fitness import FITNESSES, Fitness, Gains, Outputs, Rows


class _Distances(Fitness):
    """Remembers nothing."""

    def start(self, trajectories: Rows, outputs: Outputs) -> None:
        """See :meth:`Fitness.start`."""

    def replaces(self, owners: Rows, gains: Gains, outputs: Outputs) -> NDArray[np.bool_]:
        """See :meth:`Fitness.replaces`."""
        return self._accepts(gains)

    @abstractmethod
    def _accepts(self, gains: Gains) -> NDArray[np.bool_]:
        """Which gains of D suffice."""

    def observe(self, owners: Rows, gains: Gains, outputs: Outputs) -> None:
        """See :meth:`Fitness.observe`."""


@FITNESSES.register("distance_only")
class LargerDistance(_Distances):
    """Dflare_D: a larger D, by however little; delta is not used."""

    def _accepts(self, gains: Gains) -> NDArray[np.bool_]:
        return gains > 0


@FITNESSES.register("distance_at_least")
class DistanceAtLeast(_Distances):
    """Dflare_D: a D that is at least as large (Algorithm 1, line 6); delta is not used."""

    unchanged_may_replace: ClassVar[bool] = True

    def _accepts(self, gains: Gains) -> NDArray[np.bool_]:
        return gains >= 0


@FITNESSES.register("distance_by_delta")
class DistanceByDelta(_Distances):
    """Dflare_D: a D that is larger by more than delta."""

    def _accepts(self, gains: Gains) -> NDArray[np.bool_]:
        return gains > self.delta


@FITNESSES.register("distance_changed")
class DistanceChanged(_Distances):
    """Dflare_D: a D that differs by more than delta, be it larger or smaller."""

    def _accepts(self, gains: Gains) -> NDArray[np.bool_]:
        return np.abs(gains) > self.delta
