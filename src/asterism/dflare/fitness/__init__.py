"""Whether a mutant takes the place of the best one so far.

The paper's fitness is ``H(x) = D(x) / delta + O(x)``: D is the distance of the two models' top-1
probabilities, and O is 1 where the pair ``(f(x), g(x))`` has not been observed before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from asterism.core.registry import Registry

Outputs = NDArray[np.float32]
Rows = NDArray[np.int64]
Distances = NDArray[np.float32]


class Fitness(ABC):
    """Judges mutants of many lanes, each by its own history.

    Args:
        lanes: how many there are.
        delta: distances that differ by no more count as equal.
    """

    def __init__(self, lanes: int, delta: float) -> None:
        self.delta = delta

    @abstractmethod
    def start(self, lanes: Rows, f: Outputs, g: Outputs) -> None:
        """Take in the outputs of the seeds."""

    @abstractmethod
    def improves(
        self, lanes: Rows, f: Outputs, g: Outputs, distance: Distances, best: Distances
    ) -> NDArray[np.bool_]:
        """Which mutants replace the best of their lane; they count as observed from now on.

        Args:
            lanes: whose mutants these are, int64 ``(n,)``.
            f: outputs of the original, ``(n, K)``.
            g: outputs of the compressed model, ``(n, K)``.
            distance: the mutants' D, ``(n,)``.
            best: D of the best so far, ``(n,)``.
        """


FITNESSES: Registry[type[Fitness]] = Registry("fitness", "asterism.dflare.fitness")
