"""Steps of Metropolis–Hastings chains whose random numbers are given.

A chain is a :class:`~asterism.search.metropolis.MetropolisHastings` that keeps no state: where it
stands is the candidate that it chose last, which the caller knows. So a step that turns out to be
in vain can simply be forgotten. There are few candidates, and for these plain numbers are several
times as fast as arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

#: Where a chain stands before its first step.
NOWHERE = -1
#: Numbers for one step that nearly always suffice: four proposals, of which at p = 1 / candidates
#: each is accepted with a chance of 63% and more.
FEW_NUMBERS = 8
#: Numbers for one step. Of the 32 proposals that they make, all are refused less than once in
#: 10^13 steps.
NUMBERS = 64


class ChainSelector(Protocol):
    """Chooses a chain's next candidate."""

    def select(self, current: int, scores: Sequence[float], numbers: Sequence[float]) -> int | None:
        """A candidate's number; None where all proposals that the numbers make are refused.

        Args:
            current: the candidate that the chain chose last, or :data:`NOWHERE`.
            scores: how well each candidate served it, higher is better; equal scores rank in the
                candidates' order.
            numbers: the first random numbers of this step, from [0, 1), an even number of them.
        """
        ...


class UniformChains:
    """Every candidate is equally likely: the unguided ablation.

    Args:
        candidates: how many there are.
    """

    def __init__(self, candidates: int) -> None:
        self._candidates = candidates

    def select(self, current: int, scores: Sequence[float], numbers: Sequence[float]) -> int | None:
        """See :meth:`ChainSelector.select`; one number is enough."""
        return int(numbers[0] * self._candidates)


class MetropolisHastingsChains:
    """Metropolis–Hastings over each chain's own ranking.

    Args:
        candidates: how many there are.
        p: parameter of the geometric distribution over ranks, in (0, 1).
    """

    def __init__(self, candidates: int, p: float) -> None:
        if not 0 < p < 1:
            raise ValueError(f"p must lie in (0, 1), not {p}")
        self._candidates = range(candidates)
        self._ratios = {d: (1 - p) ** d for d in range(1 - candidates, candidates)}

    def select(self, current: int, scores: Sequence[float], numbers: Sequence[float]) -> int | None:
        """See :meth:`ChainSelector.select`; every proposal's number stands before its chance's."""
        if current == NOWHERE:
            return int(numbers[0] * len(self._candidates))
        ranking = sorted(self._candidates, key=scores.__getitem__, reverse=True)
        rank = ranking.index(current)
        for place in range(0, len(numbers), 2):
            proposal = int(numbers[place] * len(self._candidates))
            if numbers[place + 1] < self._ratios[ranking.index(proposal) - rank]:
                return proposal
        return None
