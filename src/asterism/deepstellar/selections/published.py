"""Published strategies of choosing parents: what was chosen seldom, found last, or is next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.deepstellar.selections import SELECTIONS, Selection


@SELECTIONS.register("probability")
@dataclass(frozen=True)
class ProbabilisticSelection(Selection):
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


@SELECTIONS.register("recent")
@dataclass(frozen=True)
class RecencySelection(Selection):
    """Chooses with equal chance among the newest entries or among all entries.

    Odena et al., "TensorFuzz: Debugging Neural Networks with Coverage-Guided Fuzzing", ICML 2019.

    Attributes:
        newest: how many entries count as the newest.
    """

    newest: int = 5

    def __post_init__(self) -> None:
        if self.newest < 1:
            raise ValueError(f"at least 1 entry must count as newest, not {self.newest}")

    def choose(
        self, chosen: NDArray[np.int64], last: int, count: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """See :meth:`Selection.choose`."""
        size = len(chosen)
        newest = min(self.newest, size)
        age = rng.integers(newest + 1, size=count)
        anywhere = rng.integers(size, size=count)
        return np.where(age < newest, size - 1 - age, anywhere)


@SELECTIONS.register("round_robin")
@dataclass(frozen=True)
class RoundRobinSelection(Selection):
    """Chooses the entry after the last chosen one; after the newest comes the oldest."""

    def choose(
        self, chosen: NDArray[np.int64], last: int, count: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """See :meth:`Selection.choose`."""
        return (last + 1 + np.arange(count)) % len(chosen)


@SELECTIONS.register("depth_first")
@dataclass(frozen=True)
class DepthFirstSelection(Selection):
    """Chooses the newest of the least chosen entries, counted in rounds of ``tries``.

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


@SELECTIONS.register("random")
@dataclass(frozen=True)
class UniformSelection(Selection):
    """Chooses every entry with equal probability."""

    def choose(
        self, chosen: NDArray[np.int64], last: int, count: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """See :meth:`Selection.choose`."""
        return rng.integers(len(chosen), size=count)
