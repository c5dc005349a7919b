"""The published default: entries that were chosen often are chosen less often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.deepstellar.selections.strategy import SELECTIONS, Selection


@SELECTIONS.register("probability")
@dataclass(frozen=True)
class Probability(Selection):
    """Draws entries uniformly and takes one with a probability that falls with its use.

    An entry that was chosen f times is taken with the probability ``initial − f/gamma``, but at
    least ``floor`` (DeepHunter, Xie et al., ISSTA 2019, section 3.1; DeepStellar's fuzzer).
    All parents of one call are drawn by the counts before it.

    Attributes:
        initial: probability of an entry that was never chosen, in (0, 1].
        floor: the least probability, in (0, initial].
        gamma: choices in which the probability would fall by 1, above 0.
    """

    initial: float = 0.8
    floor: float = 0.3
    gamma: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.floor <= self.initial <= 1:
            raise ValueError(
                f"0 < floor ≤ initial ≤ 1 must hold, not {self.floor} and {self.initial}"
            )
        if self.gamma <= 0:
            raise ValueError(f"gamma must be above 0, not {self.gamma}")

    def choose(
        self, chosen: NDArray[np.int64], last: int, count: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """See :meth:`Selection.choose`."""
        # Drawing uniformly until one is taken is drawing in proportion to the probabilities.
        bounds = np.cumsum(np.maximum(self.initial - chosen / self.gamma, self.floor))
        points = rng.random(count) * bounds[-1]
        drawn: NDArray[np.int64] = np.searchsorted(bounds, points, side="right")
        return np.minimum(drawn, len(chosen) - 1)
