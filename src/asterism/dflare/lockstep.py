"""What every search in lockstep shares: seeds, budget, time, bookkeeping of triggers."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import progress
from asterism.core.parameters.params import Section
from asterism.core.randomness.random_streams import stream
from asterism.dflare import outcome
from asterism.dflare.comparison import Comparison
from asterism.dflare.domain import Domain
from asterism.dflare.outcome import Findings, SeedRecord, Trigger
from asterism.dflare.pair import Answers, Pair
from asterism.dflare.recall import Recall, Recollection
from asterism.search.streams import ManyStreams

Items = NDArray[Any]
Rows = NDArray[np.int64]

#: The most mutants that one call of the models has.
LARGEST_BATCH = 4096


@dataclass(frozen=True)
class Budget:
    """When to stop on a seed.

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
class Subject:
    """What is searched.

    Attributes:
        pair: the models.
        domain: their inputs and the operators on them.
        comparison: when they deviate.
    """

    pair: Pair
    domain: Domain
    comparison: Comparison


@dataclass(frozen=True)
class Proposal:
    """Mutants to ask the models about in one call.

    Attributes:
        walks: whose they are, int64 ``(walks,)``.
        counts: how many each walk has, at least 1, int64 ``(walks,)``.
        items: the mutants ``(n, ...)``, walk by walk, each walk's in the order in which they count.
    """

    walks: Rows
    counts: Rows
    items: Items

    @cached_property
    def owners(self) -> Rows:
        """The walk of each mutant, int64 ``(n,)``."""
        return np.repeat(self.walks, self.counts)

    def by_walk(self) -> Iterator[tuple[int, range]]:
        """Each walk and its rows of ``items``."""
        start = 0
        for walk, count in zip(self.walks.tolist(), self.counts.tolist(), strict=True):
            yield walk, range(start, start + count)
            start += count


ProposalT = TypeVar("ProposalT", bound=Proposal)


class LockstepSearch(ABC, Generic[ProposalT]):
    """Searches from many seeds at once, so that every call of the models is a full batch.

    A subclass proposes mutants for the walks that go on and learns from the answers; a walk is one
    seed's search. Nothing that one walk draws or decides depends on another. The walks go in two
    groups: while the models are at work on one, the other learns and proposes.

    Args:
        subject: models, domain and comparison.
        budget: when to stop on a seed.
        items: the seeds, ``(N, ...)``.
        numbers: what identifies each seed, int ``(N,)``; its random streams follow from it.
        seed: the run's seed.
        name: the search's name, which its random streams depend on.
        options: the search's own options.
    """

    #: The options that this search takes.
    Options: ClassVar[type[Section]]
    #: Mutants that it proposes for one walk at a time, at least.
    width: int = 1

    def __init__(
        self,
        subject: Subject,
        budget: Budget,
        items: Items,
        numbers: Sequence[int],
        seed: int,
        name: str,
        options: Any,
    ) -> None:
        self.subject = subject
        self.budget = budget
        self.items = items
        self.numbers = [int(number) for number in numbers]
        self.queries = np.zeros(len(items), np.int64)
        self._seed = seed
        self._name = name
        self._recall = Recall(subject.pair)
        self._found: list[dict[bytes, Trigger]] = [{} for _ in range(len(items))]
        self._records: dict[int, SeedRecord] = {}
        self._seconds = np.zeros(len(items))

    def stream(self, walk: int, purpose: str) -> np.random.Generator:
        """A walk's random numbers for one purpose."""
        return stream(self._seed, "trigger", self._name, self.numbers[walk], purpose)

    def streams(self, purpose: str) -> ManyStreams:
        """The random numbers of all walks for one purpose."""
        keys = [
            self.stream(walk, purpose).bit_generator.random_raw()
            for walk in range(len(self.numbers))
        ]
        return ManyStreams(np.array(keys, np.uint64))

    @abstractmethod
    def begin(self, walks: Rows, answers: Answers) -> None:
        """Take in the answers for the seeds of the walks that are searched."""

    @abstractmethod
    def propose(self, walks: Rows) -> ProposalT:
        """The next mutants of each of these walks, within its budget."""

    @abstractmethod
    def learn(self, proposal: ProposalT, answers: Answers) -> None:
        """Count mutants by :meth:`count`, walk by walk, and learn from the answers.

        A search may leave a walk's last mutants uncounted, when by what it learned from the
        earlier ones it would not have proposed them: they were never asked about.
        """

    @abstractmethod
    def history(self, proposal: ProposalT, walk: int, row: int) -> tuple[str, ...]:
        """Names of the operators that led to the mutant in this row."""

    def run(self) -> Findings:
        """Search from all seeds."""
        walks = self._check_seeds()
        with progress(total=len(self.items), label=self._name, unit="seed") as bar:
            bar.update(len(self._records))
            room = max(1, min(-(-len(walks) // 2), LARGEST_BATCH // self.width))
            waiting = deque(walks[start : start + room] for start in range(0, len(walks), room))
            under_way: deque[tuple[ProposalT, Recollection]] = deque()
            while waiting or under_way:
                started, before = time.perf_counter(), len(self._records)
                if waiting and len(under_way) < 2:
                    walks = waiting.popleft()
                else:
                    proposal, answers = under_way.popleft()
                    self.learn(proposal, answers.result())
                    walks = self._going_on(proposal.walks)
                if len(walks):
                    proposal = self.propose(walks)
                    under_way.append((proposal, self._recall.submit(proposal.items)))
                    self._seconds[walks] += (time.perf_counter() - started) / len(walks)
                bar.update(len(self._records) - before)
        findings = Findings(list(self._records.values()))
        for found in self._found:
            findings.triggers += found.values()
        findings.sort()
        return findings

    def count(
        self,
        proposal: ProposalT,
        answers: Answers,
        deviates: Sequence[bool],
        walk: int,
        rows: Sequence[int],
    ) -> Sequence[int]:
        """Count mutants as queries of their walk, and file those that trigger or failed.

        Args:
            proposal: where they stand.
            answers: what the models say about the proposal.
            deviates: on which of its rows they disagree.
            walk: the walk.
            rows: the mutants; all of them are counted before any of them is looked at.

        Returns:
            The rows that the search can learn from, since they neither trigger nor failed. Whether
            the walk goes on is another question, see :meth:`goes_on`.
        """
        self.queries[walk] += len(rows)
        ordinary = []
        for row in rows:
            if row in answers.failures:
                self._finish(walk, outcome.FAILED, answers.failures[row])
            elif deviates[row]:
                self._file(proposal, answers, walk, row)
            else:
                ordinary.append(row)
        if self.queries[walk] >= self.budget.queries:
            self._finish(walk, outcome.TRIGGERED if self._found[walk] else outcome.EXHAUSTED)
        return ordinary

    def goes_on(self, walk: int) -> bool:
        """Whether a walk has found too little yet and can still ask."""
        return walk not in self._records

    def _check_seeds(self) -> Rows:
        """The walks whose seeds both models agree on."""
        if not len(self.items):
            return np.empty(0, np.int64)
        answers = self._recall.submit(self.items).result()
        deviates = self.subject.comparison.deviates(answers.f, answers.g)
        for row, reason in answers.failures.items():
            self._finish(row, outcome.FAILED, reason)
        for walk in np.flatnonzero(deviates).tolist():
            self._finish(walk, outcome.DEVIATES_ALREADY)
        walks = self._going_on(np.arange(len(self.items)))
        self.begin(walks, Answers(answers.f[walks], answers.g[walks], {}))
        return walks

    def _file(self, proposal: ProposalT, answers: Answers, walk: int, row: int) -> None:
        if not self.goes_on(walk):
            return
        found, item = self._found[walk], proposal.items[row]
        trigger = Trigger(
            self.numbers[walk],
            int(self.queries[walk]),
            self.history(proposal, walk, row),
            item.copy(),
            answers.f[row].copy(),
            answers.g[row].copy(),
        )
        found.setdefault(item.tobytes(), trigger)
        if len(found) == self.budget.triggers:
            self._finish(walk, outcome.TRIGGERED)

    def _going_on(self, walks: Rows) -> Rows:
        """Those of the walks that go on; walks whose time is up end here."""
        if self.budget.seconds is not None:
            for walk in walks[self._seconds[walks] > self.budget.seconds].tolist():
                found = self._found[walk]
                self._finish(walk, outcome.TRIGGERED if found else outcome.OUT_OF_TIME)
        return walks[[self.goes_on(walk) for walk in walks.tolist()]]

    def _finish(self, walk: int, how: str, reason: str = "") -> None:
        """File how a walk ended, unless it has ended already."""
        if not self.goes_on(walk):
            return
        if how == outcome.FAILED and self._found[walk]:
            how = outcome.TRIGGERED
        self._records[walk] = SeedRecord(self.numbers[walk], how, int(self.queries[walk]), reason)
