"""Choosing by Metropolis–Hastings over a ranking.

Dflare's Algorithm 2 (Tian et al., TOSEM 2023) and MEMO's (Li et al.) are the same choice: rank
all candidates by how well they served so far, draw a proposal uniformly, and accept it with
the ratio of two geometric probabilities, ``(1 - p) ** (rank(proposal) - rank(current))``.

A selector keeps no state: the caller knows where its chain is. So a choice that turns out to be
in vain can be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Candidate = TypeVar("Candidate")


class PrecomputedDraws:
    """Draws from numbers that are known, such as those of a counter-based stream.

    Args:
        numbers: the numbers, from [0, 1); each draw takes the next.
    """

    def __init__(self, numbers: Iterator[float]) -> None:
        self._numbers = numbers

    def integers(self, high: int, /) -> int:
        """An integer from [0, high)."""
        return int(next(self._numbers) * high)

    def random(self) -> float:
        """A number from [0, 1)."""
        return next(self._numbers)


#: Gives random numbers.
RandomDraws = np.random.Generator | PrecomputedDraws


class Selector:
    """Chooses a chain's next candidate: each is equally likely, the unguided ablation."""

    def select(
        self,
        candidates: Sequence[Candidate],
        score: Callable[[Candidate], float],
        current: Candidate | None,
        draws: RandomDraws,
    ) -> Candidate:
        """The next candidate.

        Args:
            candidates: at least one, all different.
            score: how well a candidate served so far, higher is better; equal scores rank in the
                candidates' order.
            current: the candidate that the chain chose last, None before its first choice.
            draws: random numbers of this choice, here one integer.
        """
        return candidates[int(draws.integers(len(candidates)))]

    def proposals(
        self, count: int, numbers: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What many choices propose first, and how far down each proposal is accepted.

        Candidates are ranked by their scores, the best first. A proposal is accepted where its rank
        is at most ``reach`` below that of the current candidate. The first that is accepted is
        chosen, and a chain's first choice is its first proposal.

        Args:
            count: candidates that there are.
            numbers: the first random numbers of each choice, from [0, 1), ``(n, 2 * m)``.

        Returns:
            The places of the proposals and their reach, each int64 ``(n, m)``; a reach of
            ``count - 1`` accepts any.
        """
        proposed = (numbers[:, :1] * count).astype(np.int64)
        return proposed, np.full_like(proposed, count - 1)


class MetropolisHastings(Selector):
    """Prefers candidates of high rank. The first choice of a chain is uniform.

    Proposals are drawn until one is accepted, as both papers' algorithms do: an integer for the
    proposal, then a number for its chance.

    Args:
        p: parameter of the geometric distribution over ranks, in (0, 1). Dflare takes one over
            the number of candidates, MEMO 0.05.
    """

    def __init__(self, p: float) -> None:
        if not 0 < p < 1:
            raise ValueError(f"p must lie in (0, 1), not {p}")
        self._stays = 1 - p

    def select(
        self,
        candidates: Sequence[Candidate],
        score: Callable[[Candidate], float],
        current: Candidate | None,
        draws: RandomDraws,
    ) -> Candidate:
        """See :meth:`Selector.select`."""
        count = len(candidates)
        if current is None:
            return candidates[int(draws.integers(count))]
        least = self._stays ** (count - 1)  # of a step from the first rank to the last
        ranking: list[Candidate] = []
        while True:
            proposal = candidates[int(draws.integers(count))]
            chance = draws.random()
            if proposal == current or chance < least:
                return proposal
            if score(proposal) > score(current):
                return proposal
            ranking = ranking or sorted(candidates, key=score, reverse=True)
            steps_down = ranking.index(proposal) - ranking.index(current)
            if steps_down <= 0 or chance < self._stays**steps_down:
                return proposal

    def proposals(
        self, count: int, numbers: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """See :meth:`Selector.proposals`."""
        proposed = (numbers[:, ::2] * count).astype(np.int64)
        ascending = np.array([self._stays**down for down in range(count - 1, 0, -1)])
        reach: NDArray[np.int64] = ascending.searchsorted(numbers[:, 1::2], side="right")
        np.subtract(len(ascending), reach, out=reach)
        return proposed, reach
