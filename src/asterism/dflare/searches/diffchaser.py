"""DiffChaser (Xie et al., IJCAI 2019, Algorithm 1), the baseline, for all seeds at once.

A genetic algorithm: a population of mutants of the seed, whose fitness is k-uncertainty, moves
towards the decision boundary, where two versions of a model are likely to disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import Section
from asterism.dflare.lockstep import Budget, LockstepSearch, Proposal, Subject
from asterism.dflare.pair import Answers
from asterism.dflare.searches import SEARCHES

Rows = NDArray[np.int64]


class DiffChaserOptions(Section):
    """The genetic algorithm."""

    population: int = Field(ge=3, description="mutants of a seed at a time")
    k: int = Field(ge=2, description="fitness compares the largest and the k-th probability")
    mutation_rate: float = Field(gt=0, le=1, description="share of a child's pixels that change")
    tournament: int = Field(ge=1, description="candidates of which a parent is the fittest")


@SEARCHES.register("diffchaser")
class DiffChaser(LockstepSearch[Proposal]):
    """Every step is a generation: all but the fittest are replaced by mutated children.

    Args:
        subject: see :class:`~asterism.dflare.lockstep.LockstepSearch`, as for the next five.
        budget: when to stop on a seed; every member of a generation is a query, also those after
            the first that triggers, since the algorithm evaluates a generation before it looks.
        items: the seeds.
        numbers: what identifies each seed.
        seed: the run's seed.
        name: the search's name.
        options: the genetic algorithm's.
    """

    Options = DiffChaserOptions

    def __init__(
        self,
        subject: Subject,
        budget: Budget,
        items: NDArray[Any],
        numbers: Sequence[int],
        seed: int,
        name: str,
        options: DiffChaserOptions,
    ) -> None:
        super().__init__(subject, budget, items, numbers, seed, name, options)
        self._options = options
        self.width = options.population
        self._rngs = [self.stream(walk, "genetics") for walk in range(len(items))]
        #: Members and their fitness, of the walks that have begun; the fittest stands first.
        self._members: dict[int, NDArray[Any]] = {}
        self._fitness: dict[int, NDArray[np.float32]] = {}

    def begin(self, walks: Rows, answers: Answers) -> None:
        """See :meth:`LockstepSearch.begin`; the first population is the first proposal."""

    def propose(self, walks: Rows) -> Proposal:
        """See :meth:`LockstepSearch.propose`: a generation, or what the budget leaves of it."""
        left = self.budget.queries - self.queries[walks]
        broods = [self._brood(walk)[:rest] for walk, rest in zip(walks.tolist(), left, strict=True)]
        return Proposal(walks, np.array([len(b) for b in broods]), np.concatenate(broods))

    def learn(self, proposal: Proposal, answers: Answers) -> None:
        """See :meth:`LockstepSearch.learn`; a generation is evaluated whole."""
        comparison = self.subject.comparison
        deviates = comparison.deviates(answers.f, answers.g).tolist()
        fitness = comparison.uncertainty(answers.f, answers.g, self._options.k)
        for walk, rows in proposal.by_walk():
            ordinary = set(self.count(proposal, answers, deviates, walk, rows))
            if self.goes_on(walk):
                eligible = [fitness[row] if row in ordinary else -np.inf for row in rows]
                brood = proposal.items[rows.start : rows.stop]
                self._settle(walk, brood, np.array(eligible, np.float32))
            else:
                self._members.pop(walk, None)

    def history(self, proposal: Proposal, walk: int, row: int) -> tuple[str, ...]:
        """See :meth:`LockstepSearch.history`."""
        return ("crossover", "mutation") if walk in self._members else ("mutation",)

    def _brood(self, walk: int) -> NDArray[Any]:
        """The members to evaluate: the first population, or the children of the last one."""
        rng, options = self._rngs[walk], self._options
        if walk not in self._members:
            members = np.repeat(self.items[walk : walk + 1], options.population, axis=0)
        else:
            first, second = (self._parents(walk, rng) for _ in range(2))
            members = self.subject.domain.cross(first, second, rng)
        return self.subject.domain.disturb(members, options.mutation_rate, rng)

    def _parents(self, walk: int, rng: np.random.Generator) -> NDArray[Any]:
        size = (self._options.population - 1, self._options.tournament)
        rivals = rng.integers(0, self._options.population, size)
        fitness = self._fitness[walk][rivals]
        winners = rivals[np.arange(len(rivals)), fitness.argmax(axis=1)]
        parents: NDArray[Any] = self._members[walk][winners]
        return parents

    def _settle(self, walk: int, brood: NDArray[Any], fitness: NDArray[np.float32]) -> None:
        """Put the fittest first; it is the only one that survives."""
        if walk in self._members:
            brood = np.concatenate([self._members[walk][:1], brood])
            fitness = np.concatenate([self._fitness[walk][:1], fitness])
        best = int(fitness.argmax())
        order = [best, *(i for i in range(len(brood)) if i != best)]
        self._members[walk], self._fitness[walk] = brood[order], fitness[order]
