"""The base of all searches, which search from many seeds in lockstep: budget, time, triggers."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import progress
from asterism.core.parameters.params import ParameterSection
from asterism.core.random_streams import BatchedStreams, draw_first_word, stream
from asterism.dflare import outcome
from asterism.dflare.bounds import within_bound
from asterism.dflare.comparisons import Comparison
from asterism.dflare.domains import Domain
from asterism.dflare.outcome import SearchResult, SeedRecord, Trigger
from asterism.dflare.pair import ModelPair, PairedOutputs, Proposal
from asterism.dflare.params import BoundParams
from asterism.dflare.prediction_cache import CachedPredictions, PredictionCache

Items = NDArray[Any]
Rows = NDArray[np.int64]

#: The most mutants that one call of the models has, and the most bytes of them; making them takes a
#: few copies in float.
LARGEST_BATCH, _LARGEST_BYTES = 4096, 32_000_000


@dataclass(frozen=True)
class SeedBudget:
    """The limits after which the search from a seed stops.

    Attributes:
        queries: mutants to evaluate at most.
        triggers: triggering inputs to find.
        seconds: time to spend at most, None for no ceiling; a seed's time is its share of the
            time of the batches that it was part of.
    """

    queries: int
    triggers: int = 1
    seconds: float | None = None


@dataclass(frozen=True)
class PairUnderTest:
    """A pair, with the domain of its inputs and the comparison of its outputs.

    Attributes:
        pair: the models.
        domain: their inputs and the operators on them.
        comparison: when they deviate.
        bound: how far a mutant may be from its seed; None: as far as the operators lead.
        labels: the right answers by a seed's number, int64 ``(M,)`` or ``(M, A)``; None: what the
            original says about a seed is taken for right.
    """

    pair: ModelPair
    domain: Domain
    comparison: Comparison
    bound: BoundParams | None = None
    labels: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class SearchTask:
    """The models, the seeds and the budget of one search.

    Attributes:
        name: the search's name, which its random streams depend on.
        under_test: models, domain and comparison.
        budget: when to stop on a seed.
        items: the seeds, ``(N, ...)``.
        numbers: what identifies each seed, int ``(N,)``; its random streams follow from it.
        seed: the run's seed.
    """

    name: str
    under_test: PairUnderTest
    budget: SeedBudget
    items: Items
    numbers: Sequence[int]
    seed: int


ProposalT = TypeVar("ProposalT", bound=Proposal)


class LockstepSearch(ABC, Generic[ProposalT]):
    """Searches from many seeds at once, so that every call of the models is a full batch.

    A subclass proposes mutants for the trajectories that go on and learns from the answers; a
    trajectory is one seed's search. Nothing that one trajectory draws or decides depends on
    another. The trajectories go in two groups: while the models are at work on one, the other
    learns and proposes. Models in this process leave no such time, so that there is one group.

    Args:
        task: models, seeds and budget.
        options: the search's own options.
    """

    #: The options that this search takes.
    Options: ClassVar[type[ParameterSection]]
    #: Mutants that it proposes for one trajectory at a time, at least.
    width: int = 1

    def __init__(self, task: SearchTask, options: Any) -> None:
        self.under_test, self.budget, self.items = task.under_test, task.budget, task.items
        self.numbers = [int(number) for number in task.numbers]
        self.queries = np.zeros(len(task.items), np.int64)
        self._name, self._streams_of = task.name, (task.seed, "trigger", task.name)
        bound, domain = task.under_test.bound, task.under_test.domain
        self._bound = domain.bound_around(task.items, bound) if bound is not None else None
        self._cache = PredictionCache(task.under_test.pair)
        self._found: list[dict[bytes, Trigger]] = [{} for _ in range(len(task.items))]
        self._records: dict[int, SeedRecord] = {}
        self._ended = np.zeros(len(task.items), np.bool_)
        self._seconds = np.zeros(len(task.items))

    def trajectories_of(self, triggers: Sequence[Trigger]) -> list[int]:
        """The trajectory that found each of these triggering inputs."""
        places = {number: place for place, number in enumerate(self.numbers)}
        return [places[trigger.seed] for trigger in triggers]

    def stream(self, trajectory: int, purpose: str) -> np.random.Generator:
        """A trajectory's random numbers for one purpose."""
        return stream(*self._streams_of, self.numbers[trajectory], purpose)

    def streams(self, purpose: str) -> BatchedStreams:
        """The random numbers of all trajectories for one purpose."""
        keys = [draw_first_word(*self._streams_of, number, purpose) for number in self.numbers]
        return BatchedStreams(np.array(keys, np.uint64))

    def mutants(
        self,
        owners: Rows,
        parents: Items,
        operators: Rows,
        streams: BatchedStreams,
        share: NDArray[np.float64] | None = None,
    ) -> Items:
        """A mutant of each parent, within the bound if there is one.

        Args:
            owners: the trajectory of each, int64 ``(n,)``.
            parents: what is mutated, ``(n, ...)``; each stands for a mutant of which no attempt was
                within the bound.
            operators: the operator's number for each, int64 ``(n,)``.
            streams: random numbers for each.
            share: how much of each mutation is made, float64 ``(n,)``; None: all of it.
        """
        domain = self.under_test.domain

        def mutate(rows: Rows, attempt: int) -> Items:
            own = streams.of(rows)
            again = own.below(np.full(len(rows), attempt)) if attempt else own
            made = domain.mutate(parents[rows], operators[rows], again)
            return made if share is None else domain.fade(made, parents[rows], share[rows])

        return self.bounded(owners, parents, mutate)

    def bounded(self, owners: Rows, fallback: Items, mutate: Callable[[Rows, int], Items]) -> Items:
        """The mutants of ``mutate``, moved within the bound around their seeds if there is one.

        Args:
            owners: the trajectory of each, int64 ``(n,)``.
            fallback: stands for a mutant of which no attempt was within the bound, ``(n, ...)``.
            mutate: see :func:`~asterism.dflare.bounds.within_bound`.
        """
        return within_bound(self._bound, owners, fallback, mutate)

    @abstractmethod
    def begin(self, trajectories: Rows, answers: PairedOutputs) -> None:
        """Record the answers for the seeds of the trajectories that are searched."""

    @abstractmethod
    def propose(self, trajectories: Rows) -> ProposalT:
        """The next mutants of each of these trajectories, within its budget."""

    @abstractmethod
    def learn(self, proposal: ProposalT, answers: PairedOutputs) -> None:
        """Count the mutants, together or in turn, and learn from the answers.

        A search may leave a trajectory's last mutants uncounted, when by what it learned from the
        earlier ones it would not have proposed them: they were never asked about.
        """

    @abstractmethod
    def history(self, proposal: ProposalT, trajectory: int, row: int) -> tuple[str, ...]:
        """Names of the operators that led to a mutant.

        Args:
            proposal: where it stands.
            trajectory: whose it is.
            row: which of the items it is.
        """

    def shows(self, triggers: Sequence[Trigger], answers: PairedOutputs) -> NDArray[np.bool_]:
        """Whether inputs that replace triggering ones still show the same deviation.

        Args:
            triggers: the triggering inputs.
            answers: what the models say about what stands in the place of each.

        Returns:
            bool ``(n,)``.
        """
        return self.under_test.comparison.deviates(answers.f, answers.g)

    def run(self) -> SearchResult:
        """Search from all seeds."""
        trajectories = self._check_seeds()
        with progress(total=len(self.items), label=self._name, unit="seed") as bar:
            bar.update(len(self._records))
            size = math.prod(self.items.shape[1:]) * self.items.itemsize
            most = min(LARGEST_BATCH, _LARGEST_BYTES // max(1, size)) // self.width
            groups = 1 if self.under_test.pair.in_process else 2
            room = max(1, min(-(-len(trajectories) // groups), most))
            waiting = deque(
                trajectories[start : start + room] for start in range(0, len(trajectories), room)
            )
            under_way: deque[tuple[ProposalT, CachedPredictions]] = deque()
            while waiting or under_way:
                started, before = time.perf_counter(), len(self._records)
                if waiting and len(under_way) < 2:
                    trajectories = waiting.popleft()
                else:
                    proposal, asked = under_way.popleft()
                    self.learn(proposal, asked.result())
                    trajectories = self._going_on(proposal.trajectories)
                if len(trajectories):
                    proposal = self.propose(trajectories)
                    answers = self._cache.submit(proposal.items, proposal.comes_again)
                    under_way.append((proposal, answers))
                    spent = time.perf_counter() - started
                    self._seconds[trajectories] += spent / len(trajectories)
                bar.update(len(self._records) - before)
        findings = SearchResult(list(self._records.values()))
        for found in self._found:
            findings.triggers += found.values()
        findings.sort()
        return findings

    def count_together(
        self, proposal: ProposalT, answers: PairedOutputs, deviates: NDArray[np.bool_]
    ) -> None:
        """Count all queries, then record the mutants that trigger or failed.

        Whether a trajectory goes on is told by :meth:`goes_on` afterwards.

        Args:
            proposal: the mutants.
            answers: what the models say about them.
            deviates: on which of them they disagree, bool ``(n,)``.
        """
        self.queries[proposal.trajectories] += proposal.counts
        for item in _of_note(answers, deviates):
            self._note(proposal, answers, item, None)
        self._end_exhausted(proposal.trajectories)

    def count_in_turn(
        self,
        proposal: ProposalT,
        answers: PairedOutputs,
        deviates: NDArray[np.bool_],
        last: NDArray[np.bool_],
        consequential: NDArray[np.bool_] | None,
    ) -> Rows:
        """Count queries one after the other, until a mutant ends its trajectory or none is left.

        Args:
            proposal: see :meth:`count_together`, as for the next two.
            answers: what the models say.
            deviates: on which they disagree.
            last: after which mutants no further one of their trajectory is counted, bool ``(n,)``.
            consequential: which of those that deviate are looked for, bool ``(n,)``; then of the
                others only a trajectory's first is filed. None: all are.

        Returns:
            The query after each trajectory's last one that was counted, int64 ``(t,)``.
        """
        ends = np.cumsum(proposal.counts)
        begun = ends - proposal.counts
        starts = begun.copy()
        lasts = proposal.rows[last][::-1]
        ends[np.searchsorted(starts, lasts, side="right") - 1] = lasts + 1  # the first one's holds
        for item in _of_note(answers, deviates):
            trajectory, row = int(proposal.owners[item]), int(proposal.rows[item])
            place = np.searchsorted(starts, row, side="right") - 1
            if row < ends[place] and self.goes_on(trajectory):
                self.queries[trajectory] += row + 1 - begun[place]
                begun[place] = row + 1
                sought = None if consequential is None else bool(consequential[item])
                self._note(proposal, answers, item, sought)
                if not self.goes_on(trajectory):
                    ends[place] = row + 1
        self.queries[proposal.trajectories] += ends - begun
        self._end_exhausted(proposal.trajectories)
        return ends

    def goes_on(self, trajectory: int) -> bool:
        """Whether a trajectory has not found enough and has queries left."""
        return not self._ended[trajectory]

    def _check_seeds(self) -> Rows:
        """The trajectories whose seeds both models agree on."""
        if not len(self.items):
            return np.empty(0, np.int64)
        every = np.ones(len(self.items), np.bool_)  # size 1 of a blur makes the seed again
        answers = self._cache.submit(self.items, every).result()
        deviates = self.under_test.comparison.deviates(answers.f, answers.g)
        for row, reason in answers.failures.items():
            self._finish(row, outcome.FAILED, reason)
        for trajectory in np.flatnonzero(deviates).tolist():
            self._finish(trajectory, outcome.DEVIATES_ALREADY)
        trajectories = self._going_on(np.arange(len(self.items)))
        self.begin(
            trajectories, PairedOutputs(answers.f[trajectories], answers.g[trajectories], {})
        )
        return trajectories

    def _note(
        self, proposal: ProposalT, answers: PairedOutputs, item: int, consequential: bool | None
    ) -> None:
        """File a mutant that deviates or on which a model failed."""
        trajectory = int(proposal.owners[item])
        if item in answers.failures:
            self._finish(trajectory, outcome.FAILED, answers.failures[item])
        elif self.goes_on(trajectory) and (
            consequential is not False or not self._found[trajectory]
        ):
            self._file(proposal, answers, trajectory, item, consequential)

    def _end_exhausted(self, trajectories: Rows) -> None:
        """End those whose queries are used up."""
        used_up = self.queries[trajectories] >= self.budget.queries
        for trajectory in trajectories[used_up].tolist():
            found = self._found[trajectory]
            self._finish(trajectory, outcome.TRIGGERED if found else outcome.EXHAUSTED)

    def _file(
        self,
        proposal: ProposalT,
        answers: PairedOutputs,
        trajectory: int,
        row: int,
        consequential: bool | None,
    ) -> None:
        found, item = self._found[trajectory], proposal.items[row]
        trigger = Trigger(
            self.numbers[trajectory],
            int(self.queries[trajectory]),
            self.history(proposal, trajectory, row),
            item.copy(),
            answers.f[row].copy(),
            answers.g[row].copy(),
            consequential,
        )
        found.setdefault(item.tobytes(), trigger)
        if sum(t.consequential is not False for t in found.values()) == self.budget.triggers:
            self._finish(trajectory, outcome.TRIGGERED)

    def _going_on(self, trajectories: Rows) -> Rows:
        """Those of the trajectories that go on; trajectories whose time is up end here."""
        if self.budget.seconds is not None:
            for trajectory in trajectories[
                self._seconds[trajectories] > self.budget.seconds
            ].tolist():
                found = self._found[trajectory]
                self._finish(trajectory, outcome.TRIGGERED if found else outcome.OUT_OF_TIME)
        return trajectories[~self._ended[trajectories]]

    def _finish(self, trajectory: int, how: str, reason: str = "") -> None:
        """File how a trajectory ended, unless it has ended already."""
        if not self.goes_on(trajectory):
            return
        if how == outcome.FAILED and self._found[trajectory]:
            how = outcome.TRIGGERED
        self._ended[trajectory] = True
        self._records[trajectory] = SeedRecord(
            self.numbers[trajectory], how, int(self.queries[trajectory]), reason
        )


def _of_note(answers: PairedOutputs, deviates: NDArray[np.bool_]) -> list[int]:
    """The rows that deviate or on which a model failed, in their order."""
    noted = deviates.copy()
    noted[list(answers.failures)] = True
    return np.flatnonzero(noted).tolist()
