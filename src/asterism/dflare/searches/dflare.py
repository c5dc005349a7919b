"""Dflare (Tian et al., TOSEM 2023), Algorithms 1 and 2, for all seeds at once.

Mutants that were tried in vain are not made again. The same mutant of the same item does not
replace this item at a second time either, nor is it a new triggering input. A search that stays at
one image soon knows all blurs of it, and a blur of size 1 leaves the image as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.validation import named
from asterism.dflare.consequence import Consequence, ConsequenceParams
from asterism.dflare.domains import UNCHANGED
from asterism.dflare.fitness import FITNESSES
from asterism.dflare.lockstep import LockstepSearch, SearchTask
from asterism.dflare.outcome import Trigger
from asterism.dflare.pair import PairedOutputs, Proposal
from asterism.dflare.searches import SEARCHES
from asterism.dflare.searches.operator_choice import OperatorChoice

Rows = NDArray[np.int64]


class RejectedMutants:
    """The mutants of its best that each trajectory has tried in vain.

    Args:
        trajectories: how many there are.
        unchanged_may_replace: whether a best can be replaced by a mutant that is equal to it; if
            not, such a mutant is known without a try.
    """

    def __init__(self, trajectories: int, unchanged_may_replace: bool) -> None:
        self._unchanged_may_replace = unchanged_may_replace
        self._variants = np.empty(0, np.int64)  # ascending; each has a column of what was tried
        self._tried = np.zeros((trajectories, 0), np.bool_)

    def known(self, owners: Rows, variants: Rows) -> NDArray[np.bool_]:
        """Which mutants were tried in vain, or come a second time in this batch.

        Args:
            owners: the trajectory of each, int64 ``(n,)``, each one's in the order of its queries.
            variants: equal numbers are equal mutants of an item, below 0 that is not told,
                int64 ``(n,)``.
        """
        known = np.zeros(len(owners), np.bool_)
        told = np.flatnonzero(variants >= 0)
        if len(told):
            columns = self._columns(variants[told])
            places = owners[told] * len(self._variants) + columns
            known[told] = True
            first = np.unique(places, return_index=True)[1]
            known[told[first]] = self._tried.ravel()[places[first]]
        if not self._unchanged_may_replace:
            known |= variants == UNCHANGED
        return known

    def add(self, owners: Rows, variants: Rows) -> None:
        """Record mutants that were tried in vain; arguments as for :meth:`known`."""
        told = np.flatnonzero(variants >= 0)
        self._tried[owners[told], self._columns(variants[told])] = True

    def forget(self, trajectories: Rows) -> None:
        """Forget the mutants of trajectories that have another best now."""
        self._tried[trajectories] = False

    def _columns(self, variants: Rows) -> Rows:
        """Where these variants stand in the table, which gets a column for each that is new."""
        places = np.searchsorted(self._variants, variants)
        if len(self._variants):
            new = self._variants.take(places, mode="clip") != variants
        else:
            new = np.ones(len(variants), np.bool_)
        if new.any():
            every = np.union1d(self._variants, variants[new])
            tried = np.zeros((len(self._tried), len(every)), np.bool_)
            tried[:, np.searchsorted(every, self._variants)] = self._tried
            self._variants, self._tried = every, tried
            places = np.searchsorted(every, variants)
        return places


#: The smallest share of a mutation that the search for consequence makes. Near to its goal most
#: steps of a whole mutation are too far; all orders of magnitude are equally likely.
_FAINTEST = 2.0**-7
#: Most operators draw so few numbers before those that make each value of a mutant.
_FIRST_NUMBERS = 2


@dataclass(frozen=True)
class SpeculativeBatch(Proposal):
    """The next mutants of each trajectory, provided that none of them replaces the best.

    Attributes:
        operators: number of the operator of each query, int64 ``(sum of counts,)``.
        variants: what tells the mutants of a best apart, see :meth:`.Domain.variants`,
            int64 ``(n,)``.
    """

    operators: Rows
    variants: Rows


@SEARCHES.register("dflare")
class DflareSearch(LockstepSearch[SpeculativeBatch]):
    """Keeps the best mutant of each seed, and mutates it by the operator that Algorithm 2 chooses.

    One trajectory's queries come one after the other, and few trajectories would leave the models
    with small batches. But until a mutant replaces the best, the next queries are known beforehand:
    the best stays, no operator succeeds, and all random numbers are functions of trajectory and
    query. So a trajectory proposes several queries at once, and those after the first that replaces
    the best are dropped. How far it looks ahead decides on speed, never on a result.

    Args:
        task: models, seeds and budget.
        options: fitness and choice of operators.
    """

    class Options(ParameterSection):
        """Options of Dflare, as published or as an ablation changes it."""

        fitness: Annotated[str, named("asterism.dflare.fitness:FITNESSES")] = Field(
            description="a rule of asterism.dflare.fitness"
        )
        delta: float = Field(
            ge=0,
            description="distances that differ by no more count as equal; not used "
            "by distance_only",
        )
        novelty: float = Field(
            default=0.0,
            ge=0,
            description="outputs farther than this from all observed ones are new; for fitness "
            "nearest_neighbour and formula",
        )
        guided: bool = Field(
            description="choose operators by Metropolis–Hastings over success rates; "
            "false: uniformly"
        )
        consequence: ConsequenceParams | None = Field(
            default=None, description="when a deviation matters; for fitness consequence"
        )

    def __init__(self, task: SearchTask, options: Options) -> None:
        super().__init__(task, options)
        trajectories, operators = len(self.items), len(self.under_test.domain.operators)
        self._fitness = FITNESSES[options.fitness](trajectories, options.delta, options.novelty)
        self._operators = OperatorChoice(trajectories, operators, options.guided)
        self._fruitless = RejectedMutants(trajectories, self._fitness.unchanged_may_replace)
        self._choices, self._mutations = self.streams("choice"), self.streams("mutations")
        self._consequence: Consequence | None = None
        if self._fitness.aims_at_consequence:
            if options.consequence is None:
                raise UserError(f"fitness {options.fitness} needs the option consequence")
            self._steps = self.streams("steps")
            self._consequence = Consequence.of(self.under_test.comparison, options.consequence)
        self._expected = np.zeros((trajectories, 0), np.int64)
        self._best = self.items.copy()
        self._best_distance = np.zeros(trajectories, np.float32)
        self._last_success = np.zeros(trajectories, np.int64)
        self._applied: list[list[int]] = [[] for _ in range(trajectories)]

    def begin(self, trajectories: Rows, answers: PairedOutputs) -> None:
        """See :meth:`LockstepSearch.begin`."""
        if self._consequence is not None:
            right = self._right_answers(self._consequence, trajectories, answers)
            self._expected = np.zeros((len(self.items), right.shape[1]), np.int64)
            self._expected[trajectories] = right
        self._best_distance[trajectories] = self._goal(answers, trajectories)
        self._fitness.start(trajectories, _both(answers))

    def propose(self, trajectories: Rows) -> SpeculativeBatch:
        """See :meth:`LockstepSearch.propose`."""
        counts = self._worthwhile(trajectories)
        owners, starts = np.repeat(trajectories, counts), np.cumsum(counts) - counts
        queries = self.queries[owners] + np.arange(len(owners)) - np.repeat(starts, counts)
        operators = self._operators.ahead(
            trajectories, counts, self._choices.of(owners).below(queries)
        )
        streams = self._mutations.of(owners).below(queries).drawn_ahead(_FIRST_NUMBERS)
        variants, skipped, share = np.full(len(owners), -1), None, None
        domain, made_by = self.under_test.domain, operators
        if self._consequence is not None:
            share = _FAINTEST ** self._steps.of(owners).below(queries).random(len(owners))
        elif self.under_test.bound is None:  # beyond a bound, a mutant is made anew
            variants = domain.variants(self.items.shape[1:], operators, streams)
            skipped = self._fruitless.known(owners, variants)
            made = np.flatnonzero(~skipped)
            owners, variants, made_by = owners[made], variants[made], operators[made]
            streams = streams.of(made)
        # A share is a real number: such a mutant does not come again. Nor does one that was told.
        comes_again = domain.few_mutants[made_by] & (variants < 0) & (share is None)
        mutants = self.mutants(owners, self._best.take(owners, axis=0), made_by, streams, share)
        return SpeculativeBatch(
            trajectories, counts, mutants, comes_again, operators, variants, skipped=skipped
        )

    def learn(self, proposal: SpeculativeBatch, answers: PairedOutputs) -> None:
        """See :meth:`LockstepSearch.learn`; Algorithm 1, trajectory by trajectory."""
        deviates = self.under_test.comparison.deviates(answers.f, answers.g)
        consequential = self._consequential(proposal, answers, deviates)
        ordinary = ~(deviates if consequential is None else consequential)
        ordinary[list(answers.failures)] = False
        owners, outputs = proposal.owners, _both(answers)
        distance = self._goal(answers, owners)
        gains = (distance - self._best_distance[owners]).astype(np.float64)
        replacing = np.zeros(len(owners), np.bool_)
        replacing[ordinary] = self._fitness.replaces(
            owners[ordinary], gains[ordinary], outputs[ordinary]
        )
        ends = self.count_in_turn(proposal, answers, deviates, replacing, consequential)
        counted = proposal.rows < np.repeat(ends, proposal.counts)[proposal.rows]
        self._fruitless.add(owners[counted], proposal.variants[counted])
        self._adopt(proposal, np.flatnonzero(counted & replacing), distance)
        counted &= ordinary
        self._fitness.observe(owners[counted], gains[counted], outputs[counted])
        self._operators.remember(proposal.trajectories, proposal.counts, proposal.operators, ends)

    def shows(self, triggers: Sequence[Trigger], answers: PairedOutputs) -> NDArray[np.bool_]:
        """See :meth:`LockstepSearch.shows`; consequential ones have to stay so."""
        still = super().shows(triggers, answers)
        if self._consequence is not None:
            expected = self._expected[self.trajectories_of(triggers)]
            sought = np.array([bool(trigger.consequential) for trigger in triggers])
            still &= ~sought | self._consequence.holds(answers.f, answers.g, expected)
        return still

    def _goal(self, answers: PairedOutputs, owners: Rows) -> NDArray[np.float32]:
        """What the search enlarges, of each mutant: Dflare's D, or how near to consequence it is.

        Args:
            answers: what the models say.
            owners: the trajectory of each row.
        """
        if self._consequence is None:
            return self.under_test.comparison.distance(answers.f, answers.g)
        return self._consequence.nearness(answers.f, answers.g, self._expected[owners])

    def _consequential(
        self, proposal: SpeculativeBatch, answers: PairedOutputs, deviates: NDArray[np.bool_]
    ) -> NDArray[np.bool_] | None:
        """Which mutants the search looks for; None: all that deviate."""
        if self._consequence is None:
            return None
        expected = self._expected[proposal.owners]
        matters = self._consequence.holds(answers.f, answers.g, expected)
        return deviates & matters

    def _right_answers(
        self, consequence: Consequence, trajectories: Rows, answers: PairedOutputs
    ) -> NDArray[np.int64]:
        """The labels of these seeds, or what the original says about them, int64 ``(n, A)``."""
        labels = self.under_test.labels
        if labels is None:
            return consequence.certain.answers(answers.f)
        numbers = [self.numbers[trajectory] for trajectory in trajectories.tolist()]
        return labels[numbers].reshape(len(numbers), -1)

    def _adopt(self, proposal: SpeculativeBatch, rows: Rows, distance: NDArray[np.float32]) -> None:
        """Put mutants in the place of their trajectories' best; at most one of each trajectory."""
        trajectories, operators = proposal.owners[rows], proposal.operators[proposal.rows[rows]]
        self._fruitless.forget(trajectories)
        self._best[trajectories] = proposal.items[rows]
        self._best_distance[trajectories] = distance[rows]
        self._last_success[trajectories] = self.queries[trajectories]
        self._operators.succeed(trajectories, operators)
        for trajectory, operator in zip(trajectories.tolist(), operators.tolist(), strict=True):
            self._applied[trajectory].append(operator)

    def history(self, proposal: SpeculativeBatch, trajectory: int, row: int) -> tuple[str, ...]:
        """See :meth:`LockstepSearch.history`."""
        names = self.under_test.domain.operators
        last = proposal.operators[proposal.rows[row]]
        return tuple(names[o] for o in [*self._applied[trajectory], last])

    def _worthwhile(self, trajectories: Rows) -> Rows:
        """How many queries each trajectory proposes: together a full batch, few of them in vain.

        The longer a trajectory has found nothing better, the longer that is likely to go on.
        Two at least: a round costs more than a mutant in vain, where batches are not full.
        """
        fruitless = self.queries[trajectories] - self._last_success[trajectories]
        wanted = np.minimum(2 + fruitless, self.budget.queries - self.queries[trajectories])
        full = self.under_test.pair.full_batch
        shares = wanted * full // max(full, int(wanted.sum()))
        counts: Rows = np.maximum(1, shares)
        return counts


def _both(answers: PairedOutputs) -> NDArray[np.float32]:
    """Both models' outputs side by side, ``(n, 2 * K)``."""
    return np.concatenate([answers.f, answers.g], axis=1)
