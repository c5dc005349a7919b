"""Many Metropolis–Hastings chains side by side.

Each chain is a :class:`~asterism.search.metropolis.MetropolisHastings` with its own scores and
its own random numbers; all of them take their next step in a few array operations. A selector
keeps no state of the chains: where one stands is the candidate that it chose last, which the
caller knows. So a step that turns out to be in vain can simply be forgotten.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]

#: Where a chain stands before its first step.
NOWHERE = -1
#: Numbers for one step. Of the 32 proposals that they make, all are refused less than once in
#: 10^13 steps (at p = 1 / candidates a proposal is accepted with a chance of 63% and more).
NUMBERS = 64


class ChainSelector(Protocol):
    """Chooses a candidate for each of several chains."""

    def select(self, current: Indices, scores: NDArray[np.float64], numbers: Numbers) -> Indices:
        """A candidate's number for each chain, int64 ``(n,)``.

        Args:
            current: the candidate that each chose last, or :data:`NOWHERE`, int64 ``(n,)``.
            scores: how well the candidates served each of them, ``(n, candidates)``, higher is
                better; equal scores rank in the candidates' order.
            numbers: from [0, 1), ``(n, NUMBERS)``, each row the random numbers of one step.
        """
        ...


class UniformChains:
    """Every candidate is equally likely: the unguided ablation.

    Args:
        candidates: how many there are.
    """

    def __init__(self, candidates: int) -> None:
        self._candidates = candidates

    def select(self, current: Indices, scores: NDArray[np.float64], numbers: Numbers) -> Indices:
        """See :meth:`ChainSelector.select`."""
        return (numbers[:, 0] * self._candidates).astype(np.int64)


class MetropolisHastingsChains:
    """Metropolis–Hastings over each chain's own ranking.

    Args:
        candidates: how many there are.
        p: parameter of the geometric distribution over ranks, in (0, 1).
    """

    def __init__(self, candidates: int, p: float) -> None:
        if not 0 < p < 1:
            raise ValueError(f"p must lie in (0, 1), not {p}")
        self._candidates = candidates
        self._ratios = (1 - p) ** np.arange(1 - candidates, candidates, dtype=np.float64)

    def select(self, current: Indices, scores: NDArray[np.float64], numbers: Numbers) -> Indices:
        """See :meth:`ChainSelector.select`; every proposal's number stands before its chance's."""
        rows = np.arange(len(current))
        ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
        proposals = (numbers[:, 0::2] * self._candidates).astype(np.int64)
        steps_down = ranks[rows[:, np.newaxis], proposals] - ranks[rows, current][:, np.newaxis]
        accepted = numbers[:, 1::2] < self._ratios[steps_down + self._candidates - 1]
        accepted[:, -1] = True
        first = accepted.argmax(axis=1)
        first[current == NOWHERE] = 0
        chosen: Indices = proposals[rows, first]
        return chosen
