"""What every search in lockstep shares: seeds, budget, time, bookkeeping of triggers."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.console import progress
from asterism.core.params import Section
from asterism.core.streams import stream
from asterism.dflare import outcome
from asterism.dflare.comparison import Comparison
from asterism.dflare.domain import Domain
from asterism.dflare.outcome import Findings, SeedRecord, Trigger
from asterism.dflare.pair import Answers, Pair

Items = NDArray[Any]
Rows = NDArray[np.int64]


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


class LockstepSearch(ABC):
    """Searches from many seeds at once: each step asks the models one full batch.

    A subclass says which mutants to evaluate next for the lanes that go on and learns from the
    answers; a lane is one seed's search. Nothing that one lane draws or decides depends on another.

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
        self._found: list[dict[bytes, Trigger]] = [{} for _ in range(len(items))]
        self._records: dict[int, SeedRecord] = {}
        self._seconds = np.zeros(len(items))
        #: Seconds in which the models were at work, for measurements.
        self.inference_seconds = 0.0

    def stream(self, lane: int, purpose: str) -> np.random.Generator:
        """A lane's random numbers for one purpose."""
        return stream(self._seed, "trigger", self._name, self.numbers[lane], purpose)

    @abstractmethod
    def begin(self, lanes: Rows, answers: Answers) -> None:
        """Take in the answers for the seeds of the lanes that are searched."""

    @abstractmethod
    def step(self, lanes: Rows) -> None:
        """Evaluate mutants of each of these lanes with :meth:`evaluate`, and learn from it."""

    @abstractmethod
    def history(self, lane: int, row: int) -> tuple[str, ...]:
        """Names of the operators that led to the mutant in this row of the step's batch."""

    def run(self) -> Findings:
        """Search from all seeds."""
        lanes = self._check_seeds()
        with progress(total=len(self.items), label=self._name, unit="seed") as bar:
            bar.update(len(self._records))
            while len(lanes):
                before, started = len(self._records), time.perf_counter()
                self.step(lanes)
                self._seconds[lanes] += (time.perf_counter() - started) / len(lanes)
                self._retire(lanes)
                if len(self._records) > before:
                    lanes = lanes[[int(lane) not in self._records for lane in lanes]]
                    bar.update(len(self._records) - before)
        findings = Findings(list(self._records.values()))
        for found in self._found:
            findings.triggers += found.values()
        findings.sort()
        return findings

    def ask(self, items: Items) -> Answers:
        """The models' answers, and the time that they took put on record."""
        started = time.perf_counter()
        answers = self.subject.pair.ask(items)
        self.inference_seconds += time.perf_counter() - started
        return answers

    def evaluate(self, lanes: Rows, items: Items) -> tuple[Answers, NDArray[np.bool_]]:
        """Ask the models about mutants, count the queries and file the triggering ones.

        Args:
            lanes: whose mutants these are, ``(n,)``; a lane may have several, counted in order.
            items: the mutants, ``(n, ...)``.

        Returns:
            The answers, and bool ``(n,)``: which of them the search can learn from, being
            neither triggering nor failed.
        """
        answers = self.ask(items)
        ordinary = ~self.subject.comparison.deviates(answers.f, answers.g)
        if not answers.failures and ordinary.all() and len(np.unique(lanes)) == len(lanes):
            self.queries[lanes] += 1
            return answers, ordinary
        for row, lane in enumerate(lanes.tolist()):
            if lane in self._records or self._is_done(lane):
                ordinary[row] = False
                continue
            self.queries[lane] += 1
            if row in answers.failures:
                ordinary[row] = False
                self._finish(lane, outcome.FAILED, answers.failures[row])
            elif not ordinary[row]:
                self._file(lane, row, items[row], answers)
        return answers, ordinary

    def _check_seeds(self) -> Rows:
        """The lanes whose seeds both models agree on."""
        if not len(self.items):
            return np.empty(0, np.int64)
        answers = self.ask(self.items)
        deviates = self.subject.comparison.deviates(answers.f, answers.g)
        for row, reason in answers.failures.items():
            self._finish(row, outcome.FAILED, reason)
        for lane in np.flatnonzero(deviates).tolist():
            if lane not in self._records:
                self._finish(lane, outcome.DEVIATES_ALREADY)
        lanes = np.array([r for r in range(len(self.items)) if r not in self._records], np.int64)
        kept = Answers(answers.f[lanes], answers.g[lanes], {})
        self.begin(lanes, kept)
        return lanes

    def _file(self, lane: int, row: int, item: Items, answers: Answers) -> None:
        found = self._found[lane]
        trigger = Trigger(
            self.numbers[lane],
            int(self.queries[lane]),
            self.history(lane, row),
            item.copy(),
            answers.f[row].copy(),
            answers.g[row].copy(),
        )
        found.setdefault(item.tobytes(), trigger)

    def _is_done(self, lane: int) -> bool:
        return (
            len(self._found[lane]) >= self.budget.triggers
            or self.queries[lane] >= self.budget.queries
        )

    def _retire(self, lanes: Rows) -> None:
        """File the lanes that have found enough or used up their budget."""
        for lane in lanes.tolist():
            if lane in self._records:
                continue
            if self._found[lane] and self._is_done(lane):
                self._finish(lane, outcome.TRIGGERED)
            elif self.queries[lane] >= self.budget.queries:
                self._finish(lane, outcome.EXHAUSTED)
            elif self.budget.seconds is not None and self._seconds[lane] > self.budget.seconds:
                self._finish(lane, outcome.TRIGGERED if self._found[lane] else outcome.OUT_OF_TIME)

    def _finish(self, lane: int, how: str, reason: str = "") -> None:
        if how == outcome.FAILED and self._found[lane]:
            how = outcome.TRIGGERED
        self._records[lane] = SeedRecord(self.numbers[lane], how, int(self.queries[lane]), reason)
