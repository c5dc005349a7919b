"""The paper's rule, its ablation, what the released code does, and the aim at consequence."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from asterism.dflare.fitness import FITNESSES, Fitness, Outputs


@FITNESSES.register("paper")
class Paper(Fitness):
    """A larger D by more than delta, or an equal one (within delta) with unobserved outputs."""

    def __init__(self, trajectories: int, delta: float) -> None:
        super().__init__(trajectories, delta)
        self._observed: list[set[bytes]] = [set() for _ in range(trajectories)]

    def start(self, trajectory: int, outputs: Outputs) -> None:
        """See :meth:`Fitness.start`."""
        self._observed[trajectory].add(outputs.tobytes())

    def replaces(self, trajectory: int, gain: float, outputs: Outputs) -> bool:
        """See :meth:`Fitness.replaces`."""
        observed, key = self._observed[trajectory], outputs.tobytes()
        unobserved = key not in observed
        observed.add(key)
        return gain > self.delta or (gain >= -self.delta and unobserved)


@FITNESSES.register("consequence")
class TowardsConsequence(Paper):
    """The paper's rule on how near a mutant is to a consequential deviation, in the place of D.

    See :class:`asterism.dflare.consequence.Consequence`.
    """

    aims_at_consequence: ClassVar[bool] = True


@FITNESSES.register("distance_only")
class DistanceOnly(Fitness):
    """The ablation Dflare_D: only a larger D counts, by however little; delta is not used."""

    def start(self, trajectory: int, outputs: Outputs) -> None:
        """See :meth:`Fitness.start`."""

    def replaces(self, trajectory: int, gain: float, outputs: Outputs) -> bool:
        """See :meth:`Fitness.replaces`."""
        return gain > 0


#: Squared distance from which the released code takes outputs for unobserved.
_RELEASED_NOVELTY = 0.5


@FITNESSES.register("released")
class Released(Fitness):
    """What the released code does in place of the paper's rule.

    A mutant replaces the best when its D *changes* by more than delta, be it larger or smaller;
    within delta, when its outputs are at least a squared distance of 0.5 from all observed ones.
    """

    def __init__(self, trajectories: int, delta: float) -> None:
        super().__init__(trajectories, delta)
        self._observed: list[list[Outputs]] = [[] for _ in range(trajectories)]

    def start(self, trajectory: int, outputs: Outputs) -> None:
        """See :meth:`Fitness.start`."""
        self._observed[trajectory].append(outputs)

    def replaces(self, trajectory: int, gain: float, outputs: Outputs) -> bool:
        """See :meth:`Fitness.replaces`."""
        if abs(gain) > self.delta:
            return True
        squared = ((np.array(self._observed[trajectory]) - outputs) ** 2).sum(axis=1)
        new = bool(squared.min() > _RELEASED_NOVELTY)
        if new:
            self._observed[trajectory].append(outputs)
        return new
