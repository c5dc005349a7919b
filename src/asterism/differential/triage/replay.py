"""Replaying a finding as its worker had it: in a fresh process, after the models before it.

Triage shrinks in workers that live long. A library that goes wrong only after another model ran
goes wrong there in whatever comes next, and a script of that alone shows nothing. So the whole
model runs again in fresh workers, after ever more of what ran before it. What it needs is shrunk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from asterism.differential.adapters.backends import converter_of, library_of
from asterism.differential.adapters.library import CONVERTERS
from asterism.differential.engine.execution import task_of
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.oracle.finding import Finding
from asterism.differential.triage.budget import NO_CEILING, Ceiling, TriageBudget
from asterism.differential.triage.reducer import Reducer
from asterism.differential.triage.reproduction import Reproduction
from asterism.differential.triage.shrink import Shrinker
from asterism.differential.triage.unique import UniqueFinding
from asterism.memo.graphs.graph import Graph


@dataclass
class Replay:
    """What became of a finding in fresh workers.

    Args:
        ran: what the worker had run before, as far as it is known, the latest last.
        tried: whether it ``shows`` or is ``gone``, by what ran before.
        found: the finding in the smallest model, after the smallest ones; None where nothing showed
            it.
    """

    ran: Sequence[Task] = ()
    tried: dict[str, str] = field(default_factory=dict)
    found: UniqueFinding | None = None


@dataclass(frozen=True, eq=False)
class _Sequence:
    """A model, and what runs before it in the same workers."""

    graph: Graph
    before: tuple[Task, ...]

    @property
    def key(self) -> str:
        """The same for the same models in the same backends on the same kinds of inputs."""
        before = [
            [_graph(task).to_json(), list(task.inputs), task.backends, task.changed]
            for task in self.before
        ]
        return json.dumps([self.graph.to_json(), before], sort_keys=True)


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
        finding, whole = found.finding, self.graphs[found.finding.model]
        budget = TriageBudget(self.most, "triage.replays", self.ceiling)
        ran = tuple(self._before(finding))
        replay = Replay(ran)
        for count in _counts(len(ran)):
            if not budget.has_steps:
                return replay
            budget.tried += 1
            showing = _Sequence(whole, ran[len(ran) - count :])
            shows = self._shows(finding, showing)
            replay.tried[_words(count)] = "shows" if shows else "gone"
            if shows:
                smallest = self._smallest(found, showing, budget)
                replay.found = replace(
                    found,
                    graph=smallest.graph,
                    before=smallest.before,
                    unfinished=budget.unfinished,
                    out_of_time=budget.out_of_time,
                    ablation={},  # it was seen in workers that had run other models
                )
                break
        return replay

    def _before(self, finding: Finding) -> Iterator[Task]:
        """What the worker had run, and what it ran of the model itself before the finding."""
        worker = library_of(finding.backends[0])
        there = [b for b in self.show.worker_pool.usable() if worker in _workers_of(b)]
        groups = [(e.model, e.distributions, there) for e in finding.before]
        if finding.backends[0] in there:
            first = there[: there.index(finding.backends[0])]
            groups.append((finding.model, finding.distributions, first))
        for model, kinds, backends in groups:
            task = task_of(model, self.graphs[model], kinds, backends, self.show.seed)
            if task.backends:
                yield task

    def _shows(self, finding: Finding, given: _Sequence) -> bool:
        """Whether a model shows the finding in fresh workers after others."""
        pool = self.show.worker_pool
        pool.renew(_workers_of(finding.backends[0]))
        for task in given.before:
            pool.run(task)
        shown = self.show.look(given.graph, finding).finding
        return shown is not None and shown.library == finding.library

    def _smallest(self, found: UniqueFinding, whole: _Sequence, budget: TriageBudget) -> _Sequence:
        """Fewer before it, each in one backend on one kind of inputs, and all models smaller."""

        def shows(given: _Sequence) -> bool:
            return self._shows(found.finding, given)

        def without(given: _Sequence, gone: Sequence[Task]) -> _Sequence | None:
            left = tuple(t for t in given.before if not any(t is one for one in gone))
            return replace(given, before=left) if len(left) < len(given.before) else None

        reducer = Reducer(shows, lambda given: given.key, budget)
        if whole.graph != found.graph and reducer.still(replace(whole, graph=found.graph)):
            whole = replace(whole, graph=found.graph)
        whole = reducer.in_groups(whole, whole.before, without)
        singles = tuple(single for task in whole.before for single in _singles(task))
        if reducer.still(replace(whole, before=singles)):
            whole = replace(whole, before=singles)
            whole = reducer.in_groups(whole, singles, without)
        shrinker = Shrinker(lambda graph: shows(replace(whole, graph=graph)), budget)
        whole = replace(whole, graph=shrinker.shrink(whole.graph))
        for at, task in enumerate(whole.before):
            if not task.changed:  # whose values are of that very layer
                whole = self._with_smaller(found.finding, whole, at, budget)
        return whole

    def _with_smaller(
        self, finding: Finding, whole: _Sequence, at: int, budget: TriageBudget
    ) -> _Sequence:
        """The same models before, one of them as small as it can be."""
        task, seed = whole.before[at], self.show.seed

        def changed(graph: Graph) -> _Sequence:
            inputs = {d: sample_inputs(graph, seed, task.index, d) for d in task.inputs}
            smaller = replace(task, graph=graph, inputs=inputs)
            return replace(whole, before=(*whole.before[:at], smaller, *whole.before[at + 1 :]))

        shrinker = Shrinker(lambda graph: self._shows(finding, changed(graph)), budget)
        return changed(shrinker.shrink(_graph(task)))


def _graph(task: Task) -> Graph:
    assert isinstance(task.graph, Graph)
    return task.graph


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
