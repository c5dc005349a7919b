"""Choosing by Metropolis–Hastings over a ranking.

Dflare's Algorithm 2 (Tian et al., TOSEM 2023) and MEMO's (Li et al.) are the same choice: rank
all candidates by how well they served so far, draw a proposal uniformly, and accept it with
the ratio of two geometric probabilities, ``(1 - p) ** (rank(proposal) - rank(current))``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np

Candidate = TypeVar("Candidate", bound=Hashable)
Choice = TypeVar("Choice", covariant=True)


class Selector(Protocol[Choice]):
    """Chooses the next candidate; the caller's scores say how the earlier choices served."""

    def select(self, rng: np.random.Generator) -> Choice:
        """The next candidate."""
        ...


class Uniform(Generic[Candidate]):
    """Every candidate is equally likely: the unguided ablation."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = list(candidates)
        #: Nothing depends on where it stands.
        self.current: Candidate | None = None

    def select(self, rng: np.random.Generator) -> Candidate:
        """A uniform draw."""
        return self._candidates[int(rng.integers(len(self._candidates)))]

    def add(self, candidate: Candidate) -> None:
        """One more candidate."""
        self._candidates.append(candidate)


class MetropolisHastings(Generic[Candidate]):
    """A chain that prefers candidates of high rank.

    Proposals are drawn until one is accepted, as both papers' algorithms do.

    Args:
        candidates: at least one; equal scores keep this order.
        score: how well a candidate served so far, higher is better; asked at each choice.
        p: parameter of the geometric distribution, in (0, 1). Dflare takes one over the number
            of candidates, MEMO 0.05.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        score: Callable[[Candidate], float],
        p: float,
    ) -> None:
        if not candidates:
            raise ValueError("there is nothing to choose from")
        if not 0 < p < 1:
            raise ValueError(f"p must lie in (0, 1), not {p}")
        self._candidates = list(candidates)
        self._score = score
        self._p = p
        #: Where the chain stands, None before its first step; a chain goes on from what is set.
        self.current: Candidate | None = None

    def select(self, rng: np.random.Generator) -> Candidate:
        """The next state of the chain; the first one is drawn uniformly."""
        if self.current is None:
            self.current = self._draw(rng)
            return self.current
        ranks = {c: r for r, c in enumerate(sorted(self._candidates, key=self._negated))}
        while True:
            proposal = self._draw(rng)
            steps_down = ranks[proposal] - ranks[self.current]
            if rng.random() < (1 - self._p) ** steps_down:
                self.current = proposal
                return proposal

    def add(self, candidate: Candidate) -> None:
        """One more candidate; the chain stays where it is."""
        self._candidates.append(candidate)

    def _draw(self, rng: np.random.Generator) -> Candidate:
        return self._candidates[int(rng.integers(len(self._candidates)))]

    def _negated(self, candidate: Candidate) -> float:
        return -self._score(candidate)
