"""What a search takes beyond its inference: its questions are asked again by themselves."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psutil

from asterism.dflare.outcome import Findings
from asterism.dflare.pair import Model, ModelPair, PairedOutputs, Question

#: Processor seconds after which a measurement takes no further turn.
_ENOUGH = 20


class RecordedPair(ModelPair):
    """A pair that can be asked again just what it was asked, with nothing else to do meanwhile."""

    def __init__(self, original: Model, compressed: Model) -> None:
        super().__init__(original, compressed)
        pids = (getattr(model, "pid", None) for model in (original, compressed))
        self._processes = [psutil.Process(pid) for pid in pids if pid is not None]
        #: In their order: items to ask about, and questions that are waited for.
        self.events: list[tuple[RecordedQuestion, Any]] = []

    def submit(self, items: Any) -> Any:
        """See :meth:`ModelPair.submit`."""
        question = RecordedQuestion(self.events, super().submit(items))
        self.events += [(question, items)]
        return question

    def models_seconds(self) -> float:
        """Processor seconds that the models have taken so far in processes of their own."""
        return sum(sum(process.cpu_times()[:2]) for process in self._processes)

    def replay(self) -> float:
        """Seconds that the models take for the questions since ``events`` was emptied."""
        asked: dict[RecordedQuestion, Any] = {}
        started = time.perf_counter()
        for question, items in self.events:
            if items is None:
                asked[question].result()
            else:
                asked[question] = super().submit(items)
        return time.perf_counter() - started


class RecordedQuestion:
    """A question that writes down when its answers are waited for."""

    def __init__(self, events: list[Any], question: Question) -> None:
        self._events = events
        self._question = question

    def result(self) -> PairedOutputs:
        """See :meth:`Question.result`."""
        self._events += [(self, None)]
        return self._question.result()


@dataclass(frozen=True)
class Times:
    """What a search took, the medians of several runs.

    Attributes:
        findings: what it found.
        seconds: by the clock.
        inference: seconds by the clock that its questions take by themselves.
        own: processor seconds of this process beyond those of its questions.
        inference_work: processor seconds that its questions take by themselves, in this process
            and in those of the models.
    """

    findings: Findings
    seconds: float
    inference: float
    own: float
    inference_work: float

    def __str__(self) -> str:
        by_clock = 100 * (self.seconds / self.inference - 1)
        return (
            f"{self.seconds:.2f} s, {by_clock:.0f}% over inference by the clock; {self.own:.2f} s "
            f"of a processor beside {self.inference_work:.2f} s of inference: "
            f"{100 * self.own / self.inference_work:.0f}%"
        )


def measured(pair: RecordedPair, run: Callable[[], Findings], turns: int = 9) -> Times:
    """Run a search and its questions in turns, up to nine times while that is little work.

    Args:
        pair: the models that are searched.
        run: searches.
        turns: most turns; the first is colder than the others.
    """
    rows: list[tuple[float, float, float, float]] = []
    while len(rows) < turns and sum(row[2] + 2 * row[3] for row in rows) < _ENOUGH:
        pair.events.clear()
        started, busy = time.perf_counter(), time.process_time()
        findings = run()
        seconds, work = time.perf_counter() - started, time.process_time() - busy
        busy, theirs = time.process_time(), pair.models_seconds()
        inference = pair.replay()
        asked = time.process_time() - busy
        theirs = pair.models_seconds() - theirs
        rows.append((seconds, inference, work - asked, asked + theirs))
    medians = (statistics.median(column) for column in zip(*rows, strict=True))
    return Times(findings, *medians)
