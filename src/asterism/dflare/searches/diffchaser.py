"""DiffChaser (Xie et al., IJCAI 2019, Algorithm 1), the baseline, for all seeds at once.

A genetic algorithm: a population of mutants of the seed, whose fitness is k-uncertainty, moves
towards the decision boundary, where two versions of a model are likely to disagree. It mutates by
the same operators as Dflare (Dflare, table 3).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.dflare.lockstep import LockstepSearch, SearchTask
from asterism.dflare.pair import PairedOutputs, Proposal
from asterism.dflare.searches import SEARCHES

Rows = NDArray[np.int64]


@SEARCHES.register("diffchaser")
class DiffChaserSearch(LockstepSearch[Proposal]):
    """A genetic algorithm: in each step mutated children replace all but the fittest.

    Every member of a generation is a query, also those after the first that triggers, since the
    algorithm evaluates a generation before it looks.

    Args:
        task: models, seeds and budget.
        options: the genetic algorithm's.
    """

    class Options(ParameterSection):
        """Options of the genetic algorithm."""

        population: int = Field(ge=3, description="mutants of a seed at a time")
        k: int = Field(ge=2, description="fitness compares the largest and the k-th probability")
        tournament: int = Field(ge=1, description="candidates of which a parent is the fittest")

    def __init__(self, task: SearchTask, options: Options) -> None:
        super().__init__(task, options)
        self._options = options
        self.width = options.population
        trajectories = range(len(self.items))
        self._rngs = [self.stream(trajectory, "genetics") for trajectory in trajectories]
        self._mutations = self.streams("mutations")
        #: Members and their fitness, of the trajectories that have begun; the fittest stands first.
        self._members: dict[int, NDArray[Any]] = {}
        self._fitness: dict[int, NDArray[np.float32]] = {}

    def begin(self, trajectories: Rows, answers: PairedOutputs) -> None:
        """See :meth:`LockstepSearch.begin`; the first population is the first proposal."""

    def propose(self, trajectories: Rows) -> Proposal:
        """See :meth:`LockstepSearch.propose`: a generation, or what the budget leaves of it."""
        left = self.budget.queries - self.queries[trajectories]
        offspring_of_each = [
            self._offspring(trajectory)[:rest]
            for trajectory, rest in zip(trajectories.tolist(), left, strict=True)
        ]
        counts = np.array([len(offspring) for offspring in offspring_of_each])
        comes_again = np.zeros(counts.sum(), np.bool_)  # members are rarely the same
        return Proposal(trajectories, counts, np.concatenate(offspring_of_each), comes_again)

    def learn(self, proposal: Proposal, answers: PairedOutputs) -> None:
        """See :meth:`LockstepSearch.learn`; a generation is evaluated whole."""
        comparison = self.under_test.comparison
        deviates = comparison.deviates(answers.f, answers.g)
        fitness = comparison.uncertainty(answers.f, answers.g, self._options.k)
        fitness[deviates] = -np.inf
        fitness[list(answers.failures)] = -np.inf
        self.count_together(proposal, answers, deviates)
        ends = np.cumsum(proposal.counts)
        begun = zip((ends - proposal.counts).tolist(), ends.tolist(), strict=True)
        for trajectory, span in zip(proposal.trajectories.tolist(), begun, strict=True):
            rows = slice(*span)
            if self.goes_on(trajectory):
                self._settle(trajectory, proposal.items[rows], fitness[rows])
            else:
                self._members.pop(trajectory, None)

    def history(self, proposal: Proposal, trajectory: int, row: int) -> tuple[str, ...]:
        """See :meth:`LockstepSearch.history`."""
        return ("crossover", "mutation") if trajectory in self._members else ("mutation",)

    def _offspring(self, trajectory: int) -> NDArray[Any]:
        """The members to evaluate: the first population, or the children of the last one."""
        rng, options = self._rngs[trajectory], self._options
        if trajectory not in self._members:
            seed = self.items[trajectory : trajectory + 1]
            parents, others = np.repeat(seed, options.population, axis=0), None
        else:
            parents, others = (self._parents(trajectory, rng) for _ in range(2))

        domain, owners = self.under_test.domain, np.full(len(parents), trajectory)
        operators = rng.integers(0, len(domain.operators), len(parents))
        queries = self.queries[trajectory] + np.arange(len(parents))
        streams = self._mutations.of(owners).below(queries)

        def mutate(rows: Rows, attempt: int) -> NDArray[Any]:
            members = parents[rows]
            if others is not None:
                members = domain.crossover(members, others[rows], rng)
            own = streams.of(rows).below(np.full(len(rows), attempt))
            return domain.mutate(members, operators[rows], own)

        return self.bounded(owners, parents, mutate)

    def _parents(self, trajectory: int, rng: np.random.Generator) -> NDArray[Any]:
        size = (self._options.population - 1, self._options.tournament)
        rivals = rng.integers(0, self._options.population, size)
        fitness = self._fitness[trajectory][rivals]
        winners = rivals[np.arange(len(rivals)), fitness.argmax(axis=1)]
        parents: NDArray[Any] = self._members[trajectory][winners]
        return parents

    def _settle(
        self, trajectory: int, offspring: NDArray[Any], fitness: NDArray[np.float32]
    ) -> None:
        """Put the fittest first; it is the only one that survives."""
        if trajectory in self._members:
            offspring = np.concatenate([self._members[trajectory][:1], offspring])
            fitness = np.concatenate([self._fitness[trajectory][:1], fitness])
        best = int(fitness.argmax())
        order = [best, *(i for i in range(len(offspring)) if i != best)]
        self._members[trajectory], self._fitness[trajectory] = offspring[order], fitness[order]
