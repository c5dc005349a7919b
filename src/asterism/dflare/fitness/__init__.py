"""Whether a mutant takes the place of the best one so far.

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


class Fitness(ABC):
    """Judges mutants of many trajectories, each by its own history.

    Args:
        trajectories: how many there are.
        delta: distances that differ by no more count as equal.
    """

    #: Whether the search looks for consequential deviations only, so that in the place of D stands
    #: how near a mutant is to one.
    aims_at_consequence: ClassVar[bool] = False

    def __init__(self, trajectories: int, delta: float) -> None:
        self.delta = delta

    @abstractmethod
    def start(self, trajectory: int, outputs: Outputs) -> None:
        """Take in both models' outputs for a trajectory's seed, ``(2 * K,)``."""

    @abstractmethod
    def replaces(self, trajectory: int, gain: float, outputs: Outputs) -> bool:
        """Whether a mutant replaces the best of its trajectory; it counts as observed from now on.

        Args:
            trajectory: whose mutant it is.
            gain: by how much its D is above that of the best.
            outputs: outputs of the original and of the compressed model, ``(2 * K,)``.
        """


FITNESSES: Registry[type[Fitness]] = Registry("fitness", "asterism.dflare.fitness")
