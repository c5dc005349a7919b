"""Dflare (Tian et al., TOSEM 2023), Algorithms 1 and 2, for all seeds at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.validation import named
from asterism.dflare.consequence import Consequence, ConsequenceParams
from asterism.dflare.fitness import FITNESSES
from asterism.dflare.lockstep import Budget, LockstepSearch, PairUnderTest, Proposal
from asterism.dflare.outcome import Trigger
from asterism.dflare.pair import Answers
from asterism.dflare.searches import SEARCHES
from asterism.search.batched_random_streams import BatchedStreams
from asterism.search.metropolis import GivenDraws, MetropolisHastings, Selector, Uniform

Rows = NDArray[np.int64]

#: The operator of a trajectory that has not begun.
_NONE = -1
#: Random numbers that nearly always suffice for a choice: four proposals, of which each is
#: accepted with a chance of 63% and more.
_FEW_NUMBERS = 8
#: The smallest share of a mutation that the search for consequence makes. Near to its goal most
#: steps of a whole mutation are too far; all orders of magnitude are equally likely.
_FAINTEST = 2.0**-7


class DflareOptions(ParameterSection):
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
    consequence: ConsequenceParams | None = Field(
        default=None, description="when a deviation matters; for fitness consequence"
    )


@dataclass(frozen=True)
class SpeculativeBatch(Proposal):
    """The next mutants of each trajectory, as long as none of them replaces the best.

    Attributes:
        operators: number of the operator that made each, int64 ``(n,)``.
    """

    operators: Rows


@SEARCHES.register("dflare")
class Dflare(LockstepSearch[SpeculativeBatch]):
    """Keeps the best mutant of each seed, and mutates it by the operator that Algorithm 2 chooses.

    One trajectory's queries come one after the other, and few trajectories would leave the models
    with small batches. But until a mutant replaces the best, the next queries are known beforehand:
    the best stays, no operator succeeds, and all random numbers are functions of trajectory and
    query. So a trajectory proposes several queries at once, and those after the first that replaces
    the best are dropped. How far it looks ahead decides on speed, never on a result.

    Args:
        under_test: see :class:`~asterism.dflare.lockstep.LockstepSearch`, as for the next five.
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
        under_test: PairUnderTest,
        budget: Budget,
        items: NDArray[Any],
        numbers: Sequence[int],
        seed: int,
        name: str,
        options: DflareOptions,
    ) -> None:
        super().__init__(under_test, budget, items, numbers, seed, name, options)
        trajectories, operators = len(items), len(under_test.domain.operators)
        self._fitness = FITNESSES[options.fitness](trajectories, options.delta)
        self._selector = _selector(operators, options.guided)
        self._choices, self._mutations = self.streams("choice"), self.streams("mutations")
        self._consequence: Consequence | None = None
        if self._fitness.aims_at_consequence:
            if options.consequence is None:
                raise UserError(f"fitness {options.fitness} needs the option consequence")
            self._steps = self.streams("steps")
            self._consequence = Consequence.of(under_test.comparison, options.consequence)
        self._expected = np.zeros((trajectories, 0), np.int64)
        self._best = items.copy()
        self._best_distance = np.zeros(trajectories, np.float32)
        self._last_success = np.zeros(trajectories, np.int64)
        self._operator = np.full(trajectories, _NONE)
        self._chosen = np.zeros((trajectories, operators), np.int64)
        self._succeeded = np.zeros((trajectories, operators), np.int64)
        self._applied: list[list[int]] = [[] for _ in range(trajectories)]

    def begin(self, trajectories: Rows, answers: Answers) -> None:
        """See :meth:`LockstepSearch.begin`."""
        if self._consequence is not None:
            right = self._right_answers(self._consequence, trajectories, answers)
            self._expected = np.zeros((len(self.items), right.shape[1]), np.int64)
            self._expected[trajectories] = right
        self._best_distance[trajectories] = self._goal(answers, trajectories)
        for trajectory, outputs in zip(trajectories.tolist(), _both(answers), strict=True):
            self._fitness.start(trajectory, outputs)

    def propose(self, trajectories: Rows) -> SpeculativeBatch:
        """See :meth:`LockstepSearch.propose`."""
        counts = self._worthwhile(trajectories)
        owners, start = np.repeat(trajectories, counts), np.cumsum(counts) - counts
        ahead = np.arange(len(owners)) - np.repeat(start, counts)
        queries = self.queries[owners] + ahead
        choices = self._choices.of(owners).below(queries)
        operators = self._choose_operators(trajectories, counts, start, choices)
        streams = self._mutations.of(owners).below(queries)
        share = None
        if self._consequence is not None:
            share = _FAINTEST ** self._steps.of(owners).below(queries).random(len(owners))
        mutants = self.mutants(owners, self._best[owners], operators, streams, share)
        comes_again = self.under_test.domain.few_mutants[operators]
        if share is not None:  # a share is a real number: no mutant comes again
            comes_again = np.zeros(len(owners), np.bool_)
        return SpeculativeBatch(trajectories, counts, mutants, comes_again, operators)

    def learn(self, proposal: SpeculativeBatch, answers: Answers) -> None:
        """See :meth:`LockstepSearch.learn`; Algorithm 1, trajectory by trajectory."""
        deviating = self.under_test.comparison.deviates(answers.f, answers.g)
        consequential = self._consequential(proposal, answers, deviating)
        distance = self._goal(answers, proposal.owners)
        gain = (distance - self._best_distance[proposal.owners]).tolist()
        deviates, outputs, replaces = deviating.tolist(), _both(answers), self._fitness.replaces
        counts_as = proposal, answers, deviates
        ends, adopted = [], []
        for trajectory, rows in proposal.by_trajectory():
            row, begun = rows.start, rows.start
            for row in rows:
                special = deviates[row] or row in answers.failures
                # Rows of which nothing comes are counted together with the next of note.
                if not special and not replaces(trajectory, gain[row], outputs[row]):
                    continue
                block, begun = range(begun, row + 1), row + 1
                ordinary = self.count(*counts_as, trajectory, block, consequential)
                if special:
                    learns = row in ordinary and replaces(trajectory, gain[row], outputs[row])
                if not special or learns:
                    adopted.append(row)
                    break
                if not self.goes_on(trajectory):
                    break
            else:
                if begun < rows.stop:
                    self.count(*counts_as, trajectory, range(begun, rows.stop), consequential)
            ends.append(row + 1)
        self._adopt(proposal, np.array(adopted, np.int64), distance)
        self._remember_operators(proposal, np.array(ends))

    def shows(self, triggers: Sequence[Trigger], answers: Answers) -> NDArray[np.bool_]:
        """See :meth:`LockstepSearch.shows`; consequential ones have to stay so."""
        still = super().shows(triggers, answers)
        if self._consequence is not None:
            places = {number: place for place, number in enumerate(self.numbers)}
            expected = self._expected[[places[trigger.seed] for trigger in triggers]]
            sought = np.array([bool(trigger.consequential) for trigger in triggers])
            still &= ~sought | self._consequence.holds(answers.f, answers.g, expected)
        return still

    def _remember_operators(self, proposal: SpeculativeBatch, ends: Rows) -> None:
        """Take in which operators were chosen, each trajectory's up to before a row of ``ends``."""
        operators, owners = proposal.operators, proposal.owners
        counted = np.arange(len(owners)) < np.repeat(ends, proposal.counts)
        self._operator[proposal.trajectories] = operators[ends - 1]
        np.add.at(self._chosen, (owners[counted], operators[counted]), 1)

    def _goal(self, answers: Answers, owners: Rows) -> NDArray[np.float32]:
        """What the search enlarges, of each mutant: Dflare's D, or how near to consequence it is.

        Args:
            answers: what the models say.
            owners: the trajectory of each row.
        """
        if self._consequence is None:
            return self.under_test.comparison.distance(answers.f, answers.g)
        return self._consequence.nearness(answers.f, answers.g, self._expected[owners])

    def _consequential(
        self, proposal: SpeculativeBatch, answers: Answers, deviates: NDArray[np.bool_]
    ) -> list[bool] | None:
        """Which mutants the search looks for; None: all that deviate."""
        if self._consequence is None:
            return None
        expected = self._expected[proposal.owners]
        matters = self._consequence.holds(answers.f, answers.g, expected)
        found: list[bool] = (deviates & matters).tolist()
        return found

    def _right_answers(
        self, consequence: Consequence, trajectories: Rows, answers: Answers
    ) -> NDArray[np.int64]:
        """The labels of these seeds, or what the original says about them, int64 ``(n, A)``."""
        labels = self.under_test.labels
        if labels is None:
            return consequence.certain.answers(answers.f)
        numbers = [self.numbers[trajectory] for trajectory in trajectories.tolist()]
        return labels[numbers].reshape(len(numbers), -1)

    def _adopt(self, proposal: SpeculativeBatch, rows: Rows, distance: NDArray[np.float32]) -> None:
        """Put mutants in the place of their trajectories' best; at most one of each trajectory."""
        trajectories, operators = proposal.owners[rows], proposal.operators[rows]
        self._best[trajectories] = proposal.items[rows]
        self._best_distance[trajectories] = distance[rows]
        self._last_success[trajectories] = self.queries[trajectories]
        self._succeeded[trajectories, operators] += 1
        for trajectory, operator in zip(trajectories.tolist(), operators.tolist(), strict=True):
            self._applied[trajectory].append(operator)

    def history(self, proposal: SpeculativeBatch, trajectory: int, row: int) -> tuple[str, ...]:
        """See :meth:`LockstepSearch.history`."""
        names = self.under_test.domain.operators
        return tuple(names[o] for o in [*self._applied[trajectory], proposal.operators[row]])

    def _worthwhile(self, trajectories: Rows) -> Rows:
        """How many queries each trajectory proposes: together a full batch, few of them in vain.

        The longer a trajectory has found nothing better, the longer that is likely to go on.
        """
        fruitless = self.queries[trajectories] - self._last_success[trajectories]
        wanted = np.minimum(1 + fruitless, self.budget.queries - self.queries[trajectories])
        full = self.under_test.pair.full_batch
        shares = wanted * full // max(full, int(wanted.sum()))
        counts: Rows = np.maximum(1, shares)
        return counts

    def _choose_operators(
        self, trajectories: Rows, counts: Rows, start: Rows, choices: BatchedStreams
    ) -> Rows:
        """Algorithm 2 for each trajectory's next queries, were all of them fruitless.

        Args:
            trajectories: the trajectories.
            counts: how many queries each has.
            start: the first row of each.
            choices: random numbers of each row.
        """
        drawn = choices.random((len(choices), _FEW_NUMBERS))
        candidates = range(len(self.under_test.domain.operators))
        foreseen = self._selector.foreseen(len(candidates), drawn).tolist()
        numbers, operators = drawn.tolist(), []
        chosen, succeeded = self._chosen[trajectories], self._succeeded[trajectories]
        rates = succeeded / np.maximum(chosen, 1)
        served = (self._operator[trajectories], chosen, succeeded, rates, start, start + counts)
        for current, uses, successes, rate, first, end in zip(
            *(column.tolist() for column in served), strict=True
        ):
            for row in range(first, end):
                before, current = current, foreseen[row]
                if current < 0:
                    current = self._selector.select(
                        candidates,
                        rate.__getitem__,
                        None if before == _NONE else before,
                        GivenDraws(chain(numbers[row], _later_numbers(choices, row))),
                    )
                operators.append(current)
                uses[current] += 1
                if successes[current]:
                    rate[current] = successes[current] / uses[current]
        return np.array(operators, np.int64)


def _both(answers: Answers) -> NDArray[np.float32]:
    """Both models' outputs side by side, ``(n, 2 * K)``."""
    return np.concatenate([answers.f, answers.g], axis=1)


def _later_numbers(streams: BatchedStreams, row: int) -> Iterator[float]:
    """A row's random numbers after the first few, without an end."""
    stream = streams.of(np.array([row]))
    stream.random((1, _FEW_NUMBERS))
    while True:
        yield from stream.random((1, _FEW_NUMBERS))[0].tolist()


def _selector(operators: int, guided: bool) -> Selector:
    return MetropolisHastings(1 / operators) if guided and operators > 1 else Uniform()
