"""DeepTest's choice along one lineage: the newest entry until it has had its tries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.deepstellar.selections.strategy import SELECTIONS, Selection


@SELECTIONS.register("depth_first")
@dataclass(frozen=True)
class DepthFirst(Selection):
    """The newest entry of those chosen least, counted in rounds of ``tries``.

    Tian et al., "DeepTest", ICSE 2018, Algorithm 1: what was found last lies on top of a stack and
    is mutated up to a number of times, then the one below it. Where DeepTest ends with an empty
    stack, here a new round begins.

    Attributes:
        tries: how often an entry is chosen in a round.
    """

    tries: int = 10

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ValueError(f"an entry must have at least 1 try, not {self.tries}")

    def choose(
        self, chosen: NDArray[np.int64], last: int, count: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """See :meth:`Selection.choose`."""
        parents = np.empty(0, np.int64)
        used = chosen.copy()
        while len(parents) < count:
            rounds = used // self.tries
            top = np.flatnonzero(rounds == rounds.min())[::-1]
            taken = np.repeat(top, (self.tries - used[top] % self.tries))[: count - len(parents)]
            np.add.at(used, taken, 1)
            parents = np.concatenate([parents, taken])
        return parents
