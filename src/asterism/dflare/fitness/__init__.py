"""Fitness rules: whether a mutant replaces the best one so far.

The paper's fitness is ``H(x) = D(x) / delta + O(x)``: D is the distance of the two models' top-1
probabilities, and O is 1 where the pair ``(f(x), g(x))`` has not been observed before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.registry import Registry

Outputs = NDArray[np.float32]
Rows = NDArray[np.int64]
Gains = NDArray[np.float64]


class Fitness(ABC):
    """Judges mutants of many trajectories, each by its own history.

    Args:
        trajectories: how many there are.
        delta: distances that differ by no more count as equal.
        novelty: distance in the space of both models' outputs, from all observed ones, from which
            outputs count as unobserved; for the rules that look for the nearest.
    """

    #: Whether the search looks for consequential deviations only, so that in the place of D stands
    #: how near a mutant is to one.
    aims_at_consequence: ClassVar[bool] = False
    #: Whether the best can be replaced by a mutant that is equal to it.
    unchanged_may_replace: ClassVar[bool] = False

    def __init__(self, trajectories: int, delta: float, novelty: float = 0.0) -> None:
        self.delta = delta
        self.novelty = novelty

    @abstractmethod
    def start(self, trajectories: Rows, outputs: Outputs) -> None:
        """Take in both models' outputs for the trajectories' seeds, ``(t, 2 * K)``."""

    @abstractmethod
    def replaces(self, owners: Rows, gains: Gains, outputs: Outputs) -> NDArray[np.bool_]:
        """Which mutants replace the best of their trajectory, unless an earlier one did.

        Args:
            owners: the trajectory of each, int64 ``(n,)``; a trajectory's are in their order.
            gains: by how much each one's D is above that of the best, float64 ``(n,)``.
            outputs: outputs of the original and of the compressed model, ``(n, 2 * K)``.
        """

    @abstractmethod
    def observe(self, owners: Rows, gains: Gains, outputs: Outputs) -> None:
        """Take in mutants that count; arguments as for :meth:`replaces`.

        Of a trajectory's mutants these are all up to the first that replaces the best.
        """


FITNESSES: Registry[type[Fitness]] = Registry("fitness", "asterism.dflare.fitness")
