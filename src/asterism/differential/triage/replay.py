"""Replaying a finding as its worker had it: in a fresh process, after the models before it.

Triage shrinks in workers that live long. A library that goes wrong only after another model ran
goes wrong there in whatever comes next, and a script of that alone shows nothing. So the whole
model runs again in fresh workers, after ever more of what ran before it. What it needs is shrunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from asterism.differential.adapters.backends import converter_of, library_of
from asterism.differential.adapters.library import CONVERTERS
from asterism.differential.engine.execution import task_of
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.triage.ceiling import NO_CEILING, Ceiling
from asterism.differential.triage.reducer import unfinished
from asterism.differential.triage.reproduction import Reproduction
from asterism.differential.triage.shrink import Shows, Shrinker
from asterism.differential.triage.unique import UniqueFinding
from asterism.memo.graphs.graph import Graph


@dataclass
class Replay:
    """What became of a finding in fresh workers.

    Args:
        ran: what the worker had run before, as far as it is known, the latest last.
        tried: whether it ``shows`` or is ``gone``, by what ran before.
        graph: that shows it; None where nothing did.
        before: what must run before that, each in one backend with one kind of inputs.
        unfinished: why there may be something smaller; empty where there is not.
        out_of_time: whether that is want of time.
    """

    ran: Sequence[Task] = ()
    tried: dict[str, str] = field(default_factory=dict)
    graph: Graph | None = None
    before: tuple[Task, ...] = ()
    unfinished: str = ""
    out_of_time: bool = False


@dataclass(frozen=True)
class Replayer:
    """Replays findings.

    Args:
        show: asks whether a model shows a finding.
        graphs: the models of the run.
        most: how often each finding is replayed at most.
        ceiling: of time. What a finding takes is looked for in any case; then that is shrunk while
            there is time.
    """

    show: Reproduction
    graphs: Sequence[Graph]
    most: int
    ceiling: Ceiling = NO_CEILING

    def replay(self, found: UniqueFinding) -> Replay:
        """Run a finding's model in fresh workers until it shows, then shrink what that takes."""
        return _Attempt(self, found).replay()


class _Attempt:
    """The replays of one finding, as long as there are some left."""

    def __init__(self, replayer: Replayer, found: UniqueFinding) -> None:
        self._show, self._found, self._graphs = replayer.show, found, replayer.graphs
        self._most = self._left = replayer.most
        self._whole = self._graphs[found.finding.model]
        self._ceiling = replayer.ceiling
        self._untried = 0
        self._out_of_time = False
        self._workers = _workers_of(found.finding.backends[0])
        self._ran = list(self._before())

    def _before(self) -> Iterator[Task]:
        """What the worker had run, and what it ran of the model itself before the finding."""
        finding, seed = self._found.finding, self._show.seed
        worker = library_of(finding.backends[0])
        there = [b for b in self._show.worker_pool.usable() if worker in _workers_of(b)]
        groups = [(e.model, e.distributions, there) for e in finding.before]
        if finding.backends[0] in there:
            first = there[: there.index(finding.backends[0])]
            groups.append((finding.model, finding.distributions, first))
        for model, distributions, backends in groups:
            task = task_of(model, self._graphs[model], distributions, backends, seed)
            if task.backends:
                yield task

    def replay(self) -> Replay:
        """See :meth:`Replayer.replay`."""
        replay = Replay(self._ran)
        for count in _counts(len(self._ran)):
            if self._left <= 0:
                return replay
            before = self._ran[len(self._ran) - count :]
            shows = self._ask(self._whole, before)
            replay.tried[_words(count)] = "shows" if shows else "gone"
            if shows:
                break
        else:
            return replay
        graph = self._whole
        if graph != self._found.graph and self._shows(self._found.graph, before):
            graph = self._found.graph
        before = self._fewer(graph, before)
        singles = [single for task in before for single in _singles(task)]
        if self._shows(graph, singles):
            before = self._fewer(graph, singles)
        graph, before = self._smaller(graph, before)
        replay.out_of_time = self._out_of_time
        time = self._ceiling.name if self._out_of_time else ""
        replay.unfinished = unfinished(self._untried, f"triage.replays={self._most}", time)
        replay.graph, replay.before = graph, tuple(before)
        return replay

    def _shows(self, graph: Graph, before: Iterable[Task]) -> bool:
        """Whether something smaller shows the finding; not without budget, which is counted."""
        if self._left > 0 and not self._ceiling.is_reached():
            return self._ask(graph, list(before))
        self._out_of_time |= self._left > 0
        self._untried += 1
        return False

    def _ask(self, graph: Graph, before: list[Task]) -> bool:
        """Whether a model shows the finding in fresh workers after others."""
        self._left -= 1
        pool, finding = self._show.worker_pool, self._found.finding
        pool.renew(self._workers)
        for task in before:
            pool.run(task)
        shown = self._show.look(graph, finding).finding
        return shown is not None and shown.library == finding.library

    def _fewer(self, graph: Graph, before: list[Task]) -> list[Task]:
        """Without halves, quarters, … single ones of what ran before, while it still shows."""
        size = len(before) // 2
        while size:
            at = 0
            while at < len(before) and len(before) > size:
                fewer = before[:at] + before[at + size :]
                if self._shows(graph, fewer):
                    before = fewer
                else:
                    at += size
            size //= 2
        return before

    def _smaller(self, graph: Graph, before: list[Task]) -> tuple[Graph, list[Task]]:
        """Smaller models, first the one that goes wrong, then those before it."""
        graph = self._shrunk(graph, lambda smaller: self._ask(smaller, before))
        for at, task in enumerate(before):
            if not task.changed:  # whose values are of that very layer
                before = self._with_smaller(graph, before, at)
        return graph, before

    def _with_smaller(self, graph: Graph, before: list[Task], at: int) -> list[Task]:
        """The same models before, one of them as small as it can be."""
        task = before[at]
        assert isinstance(task.graph, Graph)

        def changed(smaller: Graph) -> list[Task]:
            return [*before[:at], self._of(task, smaller), *before[at + 1 :]]

        return changed(self._shrunk(task.graph, lambda smaller: self._ask(graph, changed(smaller))))

    def _shrunk(self, graph: Graph, shows: Shows) -> Graph:
        """A model as small as it can be while there are replays and time left."""
        shrinker = Shrinker(shows, self._left, self._ceiling)
        graph = shrinker.shrink(graph)
        self._untried += shrinker.untried
        self._out_of_time |= shrinker.out_of_time
        return graph

    def _of(self, task: Task, graph: Graph) -> Task:
        """The same with another model."""
        seed = self._show.seed
        inputs = {d: sample_inputs(graph, seed, task.index, d) for d in task.inputs}
        return replace(task, graph=graph, inputs=inputs)


def _workers_of(backend: str) -> set[str]:
    """Names of the workers that take part in running a backend."""
    source = None if backend in CONVERTERS else converter_of(backend)
    return {library_of(b) for b in (backend, source) if b is not None}


def _singles(task: Task) -> Iterator[Task]:
    """A task in one backend with one kind of inputs at a time."""
    for backend in task.backends or ():
        for distribution, arrays in task.inputs.items():
            yield replace(task, inputs={distribution: arrays}, backends=(backend,))


def _counts(most: int) -> list[int]:
    """0, 1, 2, 4, … and all."""
    counts = [0]
    while counts[-1] < most:
        counts.append(min(max(1, 2 * counts[-1]), most))
    return counts


def _words(count: int) -> str:
    return f"after {count} runs before it" if count > 1 else ("after 1 run" if count else "alone")
