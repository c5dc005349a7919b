"""Dflare (Tian et al., TOSEM 2023), Algorithms 1 and 2, for all seeds at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.params import Section
from asterism.dflare.fitness import FITNESSES
from asterism.dflare.lockstep import Budget, LockstepSearch, Subject
from asterism.dflare.pair import Answers
from asterism.dflare.searches import SEARCHES
from asterism.search.chains import (
    ChainSelector,
    MetropolisHastingsChains,
    UniformChains,
    UniformStreams,
)

Rows = NDArray[np.int64]


class DflareOptions(Section):
    """The paper's Dflare, or what an ablation changes."""

    fitness: str = Field(description="a rule of asterism.dflare.fitness")
    delta: float = Field(ge=0, description="distances that differ by no more count as equal")
    guided: bool = Field(
        description="choose operators by Metropolis–Hastings over success rates; false: uniformly"
    )


@SEARCHES.register("dflare")
class Dflare(LockstepSearch):
    """Keeps the best mutant of each seed, and mutates it by the operator that Algorithm 2 chooses.

    Args:
        subject: see :class:`~asterism.dflare.lockstep.LockstepSearch`, as for the next five.
        budget: when to stop on a seed.
        items: the seeds.
        numbers: what identifies each seed.
        seed: the run's seed.
        name: the search's name.
        options: fitness and choice of operators.
    """

    Options = DflareOptions

    def __init__(
        self,
        subject: Subject,
        budget: Budget,
        items: NDArray[Any],
        numbers: Sequence[int],
        seed: int,
        name: str,
        options: DflareOptions,
    ) -> None:
        super().__init__(subject, budget, items, numbers, seed, name, options)
        lanes, operators = len(items), len(subject.domain.operators)
        self._fitness = FITNESSES[options.fitness](lanes, options.delta)
        self._mutations = subject.domain.mutations(lanes, items.shape[1:], self.stream)
        self._best = items.copy()
        self._best_distance = np.zeros(lanes, np.float32)
        self._applied: list[list[int]] = [[] for _ in range(lanes)]
        self._chosen = np.zeros((lanes, operators), np.int64)
        self._succeeded = np.zeros((lanes, operators), np.int64)
        self._selector = _selector(
            lanes,
            operators,
            options.guided,
            UniformStreams([self.stream(i, "choice") for i in range(lanes)]),
        )
        self._operators: Rows = np.empty(0, np.int64)

    def begin(self, lanes: Rows, answers: Answers) -> None:
        """See :meth:`LockstepSearch.begin`."""
        self._fitness.start(lanes, answers.f, answers.g)
        self._best_distance[lanes] = self.subject.comparison.distance(answers.f, answers.g)

    def step(self, lanes: Rows) -> None:
        """One mutant for each lane: Algorithm 1's loop body."""
        success_rates = self._succeeded[lanes] / np.maximum(self._chosen[lanes], 1)
        self._operators = operators = self._selector.select(lanes, success_rates)
        mutants = self._mutations.apply(self._best[lanes], lanes, operators)
        self._chosen[lanes, operators] += 1

        answers, ordinary = self.evaluate(lanes, mutants)
        distance = self.subject.comparison.distance(answers.f, answers.g)
        judged = np.flatnonzero(ordinary)
        better = judged[
            self._fitness.improves(
                lanes[judged],
                answers.f[judged],
                answers.g[judged],
                distance[judged],
                self._best_distance[lanes[judged]],
            )
        ]
        self._best[lanes[better]] = mutants[better]
        self._best_distance[lanes[better]] = distance[better]
        self._succeeded[lanes[better], operators[better]] += 1
        for lane, operator in zip(lanes[better].tolist(), operators[better].tolist(), strict=True):
            self._applied[lane].append(operator)

    def history(self, lane: int, row: int) -> tuple[str, ...]:
        """See :meth:`LockstepSearch.history`."""
        names = self.subject.domain.operators
        return tuple(names[o] for o in [*self._applied[lane], int(self._operators[row])])


def _selector(lanes: int, operators: int, guided: bool, streams: UniformStreams) -> ChainSelector:
    if guided and operators > 1:
        return MetropolisHastingsChains(lanes, operators, 1 / operators, streams)
    return UniformChains(operators, streams)
