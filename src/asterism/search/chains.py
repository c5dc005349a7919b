"""Many Metropolis–Hastings chains side by side.

Each chain is a :class:`~asterism.search.metropolis.MetropolisHastings` with its own scores and
its own random numbers; all of them take their next step in a few array operations. A chain's
choices do not depend on which other chains take a step with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

_BLOCK = 64


class UniformStreams:
    """Numbers from [0, 1) of many generators, each read in its own order.

    Args:
        generators: one for each chain.
    """

    def __init__(self, generators: Sequence[np.random.Generator]) -> None:
        self._generators = list(generators)
        self._numbers = np.empty((len(self._generators), _BLOCK))
        self._position = np.full(len(self._generators), _BLOCK)

    def next(self, chains: Indices) -> NDArray[np.float64]:
        """The next number of each of these chains, float64 ``(n,)``."""
        for chain in chains[self._position[chains] == _BLOCK]:
            self._numbers[chain] = self._generators[chain].random(_BLOCK)
            self._position[chain] = 0
        numbers: NDArray[np.float64] = self._numbers[chains, self._position[chains]]
        self._position[chains] += 1
        return numbers


class ChainSelector(Protocol):
    """Chooses a candidate for each of several chains."""

    def select(self, chains: Indices, scores: NDArray[np.float64]) -> Indices:
        """A candidate's number for each chain, int64 ``(n,)``.

        Args:
            chains: which chains take a step, int64 ``(n,)``, each at most once.
            scores: how well the candidates served each of them, ``(n, candidates)``, higher is
                better; equal scores rank in the candidates' order.
        """
        ...


class UniformChains:
    """Every candidate is equally likely: the unguided ablation.

    Args:
        candidates: how many there are.
        streams: the chains' random numbers.
    """

    def __init__(self, candidates: int, streams: UniformStreams) -> None:
        self._candidates = candidates
        self._streams = streams

    def select(self, chains: Indices, scores: NDArray[np.float64]) -> Indices:
        """See :meth:`ChainSelector.select`."""
        return (self._streams.next(chains) * self._candidates).astype(np.int64)


class MetropolisHastingsChains:
    """Metropolis–Hastings over each chain's own ranking.

    Args:
        count: number of chains.
        candidates: how many each can choose from.
        p: parameter of the geometric distribution over ranks, in (0, 1).
        streams: the chains' random numbers: one for a proposal, one for its acceptance.
    """

    def __init__(self, count: int, candidates: int, p: float, streams: UniformStreams) -> None:
        if not 0 < p < 1:
            raise ValueError(f"p must lie in (0, 1), not {p}")
        self._candidates = candidates
        self._p = p
        self._streams = streams
        self._current = np.full(count, -1, np.int64)

    def select(self, chains: Indices, scores: NDArray[np.float64]) -> Indices:
        """See :meth:`ChainSelector.select`."""
        ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
        chosen = self._propose(chains)
        # A chain that has no state yet takes its first proposal as it is.
        waiting = np.flatnonzero(self._current[chains] >= 0)
        proposed = chosen[waiting]
        while len(waiting):
            current = self._current[chains[waiting]]
            steps_down = ranks[waiting, proposed] - ranks[waiting, current]
            accepted = self._streams.next(chains[waiting]) < (1 - self._p) ** steps_down
            chosen[waiting[accepted]] = proposed[accepted]
            waiting = waiting[~accepted]
            proposed = self._propose(chains[waiting])
        self._current[chains] = chosen
        return chosen

    def _propose(self, chains: Indices) -> Indices:
        return (self._streams.next(chains) * self._candidates).astype(np.int64)
