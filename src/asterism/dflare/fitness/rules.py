"""The paper's rule, its ablation, and what the released code does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.dflare.fitness import FITNESSES, Distances, Fitness, Outputs, Rows


@FITNESSES.register("paper")
class Paper(Fitness):
    """A larger D by more than delta, or an equal one (within delta) with unobserved outputs."""

    def __init__(self, lanes: int, delta: float) -> None:
        super().__init__(lanes, delta)
        self._observed: list[set[bytes]] = [set() for _ in range(lanes)]

    def start(self, lanes: Rows, f: Outputs, g: Outputs) -> None:
        """See :meth:`Fitness.start`."""
        self._unobserved(lanes, f, g)

    def improves(
        self, lanes: Rows, f: Outputs, g: Outputs, distance: Distances, best: Distances
    ) -> NDArray[np.bool_]:
        """See :meth:`Fitness.improves`."""
        gain = distance - best
        unobserved = self._unobserved(lanes, f, g)
        better: NDArray[np.bool_] = (gain > self.delta) | (
            (np.abs(gain) <= self.delta) & unobserved
        )
        return better

    def _unobserved(self, lanes: Rows, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        pairs = np.concatenate([f, g], axis=1)
        new = np.empty(len(lanes), np.bool_)
        for row, (lane, pair) in enumerate(zip(lanes.tolist(), pairs, strict=True)):
            observed, key = self._observed[lane], pair.tobytes()
            new[row] = key not in observed
            observed.add(key)
        return new


@FITNESSES.register("distance_only")
class DistanceOnly(Fitness):
    """The ablation Dflare_D: only a larger D counts."""

    def start(self, lanes: Rows, f: Outputs, g: Outputs) -> None:
        """See :meth:`Fitness.start`."""

    def improves(
        self, lanes: Rows, f: Outputs, g: Outputs, distance: Distances, best: Distances
    ) -> NDArray[np.bool_]:
        """See :meth:`Fitness.improves`."""
        better: NDArray[np.bool_] = distance > best
        return better


#: Squared distance from which the released code takes outputs for unobserved.
_RELEASED_NOVELTY = 0.5


@FITNESSES.register("released")
class Released(Fitness):
    """What the released code does in place of the paper's rule.

    A mutant replaces the best when its D *changes* by more than delta, be it larger or smaller;
    within delta, when its outputs are at least a squared distance of 0.5 from all observed ones.
    """

    def __init__(self, lanes: int, delta: float) -> None:
        super().__init__(lanes, delta)
        self._observed: list[list[NDArray[Any]]] = [[] for _ in range(lanes)]

    def start(self, lanes: Rows, f: Outputs, g: Outputs) -> None:
        """See :meth:`Fitness.start`."""
        self._unobserved(lanes, f, g)

    def improves(
        self, lanes: Rows, f: Outputs, g: Outputs, distance: Distances, best: Distances
    ) -> NDArray[np.bool_]:
        """See :meth:`Fitness.improves`."""
        equal = np.abs(distance - best) <= self.delta
        better: NDArray[np.bool_] = ~equal
        within = np.flatnonzero(equal)
        better[within] = self._unobserved(lanes[within], f[within], g[within])
        return better

    def _unobserved(self, lanes: Rows, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        new = np.empty(len(lanes), np.bool_)
        for row, (lane, pair) in enumerate(
            zip(lanes.tolist(), np.concatenate([f, g], axis=1), strict=True)
        ):
            observed = self._observed[lane]
            squared = [float(((pair - other) ** 2).sum()) for other in observed]
            new[row] = min(squared, default=np.inf) > _RELEASED_NOVELTY
            if new[row]:
                observed.append(pair)
        return new
