"""Dflare (Tian et al., TOSEM 2023), Algorithms 1 and 2, for all seeds at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import Section
from asterism.core.parameters.validation import named
from asterism.dflare.fitness import FITNESSES
from asterism.dflare.lockstep import Budget, LockstepSearch, Proposal, Subject
from asterism.dflare.pair import Answers
from asterism.dflare.searches import SEARCHES
from asterism.search.metropolis import GivenDraws, MetropolisHastings, Selector, Uniform
from asterism.search.streams import ManyStreams

Rows = NDArray[np.int64]

#: The operator of a walk that has not begun.
_NONE = -1
#: Random numbers that nearly always suffice for a choice: four proposals, of which each is
#: accepted with a chance of 63% and more.
_FEW_NUMBERS = 8


class DflareOptions(Section):
    """The paper's Dflare, or what an ablation changes."""

    fitness: Annotated[str, named("asterism.dflare.fitness:FITNESSES")] = Field(
        description="a rule of asterism.dflare.fitness"
    )
    delta: float = Field(
        ge=0,
        description="distances that differ by no more count as equal; not used by distance_only",
    )
    guided: bool = Field(
        description="choose operators by Metropolis–Hastings over success rates; false: uniformly"
    )


@dataclass(frozen=True)
class Foresight(Proposal):
    """The next mutants of each walk, as long as none of them replaces the best.

    Attributes:
        operators: number of the operator that made each, int64 ``(n,)``.
    """

    operators: Rows


@SEARCHES.register("dflare")
class Dflare(LockstepSearch[Foresight]):
    """Keeps the best mutant of each seed, and mutates it by the operator that Algorithm 2 chooses.

    One walk's queries come one after the other, and few walks would leave the models with small
    batches. But until a mutant replaces the best, the next queries are known beforehand: the best
    stays, no operator succeeds, and all random numbers are functions of walk and query. So a walk
    proposes several queries at once, and those after the first that replaces the best are dropped.
    How far it looks ahead decides on speed, never on a result.

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
        walks, operators = len(items), len(subject.domain.operators)
        self._fitness = FITNESSES[options.fitness](walks, options.delta)
        self._selector = _selector(operators, options.guided)
        self._choices, self._mutations = self.streams("choice"), self.streams("mutations")
        self._best = items.copy()
        self._best_distance = np.zeros(walks, np.float32)
        self._last_success = np.zeros(walks, np.int64)
        self._operator = np.full(walks, _NONE)
        self._chosen = np.zeros((walks, operators), np.int64)
        self._succeeded = np.zeros((walks, operators), np.int64)
        self._applied: list[list[int]] = [[] for _ in range(walks)]

    def begin(self, walks: Rows, answers: Answers) -> None:
        """See :meth:`LockstepSearch.begin`."""
        self._best_distance[walks] = self.subject.comparison.distance(answers.f, answers.g)
        for walk, outputs in zip(walks.tolist(), _both(answers), strict=True):
            self._fitness.start(walk, outputs)

    def propose(self, walks: Rows) -> Foresight:
        """See :meth:`LockstepSearch.propose`."""
        counts = self._worthwhile(walks)
        owners, start = np.repeat(walks, counts), np.cumsum(counts) - counts
        ahead = np.arange(len(owners)) - np.repeat(start, counts)
        queries = self.queries[owners] + ahead
        choices = self._choices.of(owners).below(queries)
        operators = self._choose_operators(walks, counts, start, choices)
        streams = self._mutations.of(owners).below(queries)
        mutants = self.subject.domain.mutate(self._best[owners], operators, streams)
        return Foresight(walks, counts, mutants, operators)

    def learn(self, proposal: Foresight, answers: Answers) -> None:
        """See :meth:`LockstepSearch.learn`; Algorithm 1, walk by walk."""
        comparison = self.subject.comparison
        deviates = comparison.deviates(answers.f, answers.g).tolist()
        distance = comparison.distance(answers.f, answers.g)
        gains = distance - self._best_distance[proposal.owners]
        outputs, gain, counted, last = _both(answers), gains.tolist(), [], []
        for walk, rows in proposal.by_walk():
            for row in rows:
                counted.append(row)
                ordinary = self.count(proposal, answers, deviates, walk, (row,))
                if ordinary and self._fitness.replaces(walk, gain[row], outputs[row]):
                    self._adopt(walk, proposal, row, distance[row])
                    break
                if not self.goes_on(walk):
                    break
            last.append(row)
        operators, owners = proposal.operators, proposal.owners
        self._operator[proposal.walks] = operators[last]
        np.add.at(self._chosen, (owners[counted], operators[counted]), 1)

    def _adopt(self, walk: int, proposal: Foresight, row: int, distance: np.float32) -> None:
        """Put a mutant in the place of its walk's best."""
        operator = int(proposal.operators[row])
        self._best[walk] = proposal.items[row]
        self._best_distance[walk] = distance
        self._last_success[walk] = self.queries[walk]
        self._succeeded[walk, operator] += 1
        self._applied[walk].append(operator)

    def history(self, proposal: Foresight, walk: int, row: int) -> tuple[str, ...]:
        """See :meth:`LockstepSearch.history`."""
        names = self.subject.domain.operators
        return tuple(names[o] for o in [*self._applied[walk], proposal.operators[row]])

    def _worthwhile(self, walks: Rows) -> Rows:
        """How many queries each walk proposes: together a full batch, few of them in vain.

        The longer a walk has found nothing better, the longer that is likely to go on.
        """
        fruitless = self.queries[walks] - self._last_success[walks]
        wanted = np.minimum(1 + fruitless, self.budget.queries - self.queries[walks])
        full = self.subject.pair.full_batch
        shares = wanted * full // max(full, int(wanted.sum()))
        counts: Rows = np.maximum(1, shares)
        return counts

    def _choose_operators(
        self, walks: Rows, counts: Rows, start: Rows, choices: ManyStreams
    ) -> Rows:
        """Algorithm 2 for each walk's next queries, were all of them fruitless.

        Args:
            walks: the walks.
            counts: how many queries each has.
            start: the first row of each.
            choices: random numbers of each row.
        """
        numbers = choices.random((len(choices), _FEW_NUMBERS)).tolist()
        candidates = range(len(self.subject.domain.operators))
        chosen, succeeded = self._chosen[walks], self._succeeded[walks]
        rates = succeeded / np.maximum(chosen, 1)
        served = (self._operator[walks], chosen, succeeded, rates, start, start + counts)
        operators = []
        for current, uses, successes, rate, first, end in zip(
            *(column.tolist() for column in served), strict=True
        ):
            for row in range(first, end):
                current = self._selector.select(
                    candidates,
                    rate.__getitem__,
                    None if current == _NONE else current,
                    GivenDraws(chain(numbers[row], _later_numbers(choices, row))),
                )
                operators.append(current)
                uses[current] += 1
                rate[current] = successes[current] / uses[current]
        return np.array(operators, np.int64)


def _both(answers: Answers) -> NDArray[np.float32]:
    """Both models' outputs side by side, ``(n, 2 * K)``."""
    return np.concatenate([answers.f, answers.g], axis=1)


def _later_numbers(streams: ManyStreams, row: int) -> Iterator[float]:
    """A row's random numbers after the first few, without an end."""
    stream = streams.of(np.array([row]))
    stream.random((1, _FEW_NUMBERS))
    while True:
        yield from stream.random((1, _FEW_NUMBERS))[0].tolist()


def _selector(operators: int, guided: bool) -> Selector:
    return MetropolisHastings(1 / operators) if guided and operators > 1 else Uniform()
