"""Executing generated models in parts, and showing how far the work is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from asterism.core.messages.console import get_logger, progress
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.resuming.work_units import ALONE, WorkUnits
from asterism.core.workers.worker import WorkerLimits
from asterism.differential.adapters.backend_names import FLOAT64, library_of, plugin_of
from asterism.differential.adapters.questions import (
    FORMS,
    LENGTHENED,
    OVERWRITTEN,
    QUESTIONS,
    RESIZED,
)
from asterism.differential.engine.inputs import (
    OUTSIDE,
    SPECIAL_DISTRIBUTIONS,
    compared_nodes,
    sample_inputs,
    special_inputs,
)
from asterism.differential.engine.invalid_configurations import (
    draw_invalid_configuration,
    is_invalid_configuration_due,
)
from asterism.differential.engine.record import FOLDERS, ExecutionRecord
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.params import ExecuteParams
from asterism.memo.graphs.graph import Graph
from asterism.memo.universe.tensors import Config

log = get_logger(__name__)

#: Runs of a model in a backend that make one part of the work: two to four minutes of it.
PART_RUNS = 700

#: Seconds between two lines of the log that say how far the work is.
_TELL_EVERY = 60.0


def limits_of(params: ExecuteParams) -> WorkerLimits:
    """The limits of time and memory of one step of a model."""
    return WorkerLimits(params.hang_seconds, params.memory_mb)


def open_worker_pool(params: ExecuteParams, weights: Path) -> WorkerPool:
    """Workers for the backends under test and the references."""
    return WorkerPool(backends_of(params), limits_of(params), weights)


def backends_of(params: ExecuteParams) -> tuple[str, ...]:
    """The backends that run models: those under test and the references."""
    return tuple(dict.fromkeys((*params.backends, *FLOAT64)))


def parts_of(
    graphs: Sequence[Graph],
    backends: Sequence[str],
    distributions: Sequence[str],
    special_share: float = 0.0,
) -> dict[str, dict[int, Graph]]:
    """The models by number, in parts of about equal cost.

    The cost is the number of runs of a model in a backend, so the parts follow from parameters
    alone.

    Args:
        graphs: the models.
        backends: where they run, references too.
        distributions: names of the inputs to run with.
        special_share: of the models, those that run once more than the inputs say.
    """
    runs = special_share * len(backends) + sum(
        len(_asked(backends, group)) for group in _groups(distributions)
    )
    size = max(1, int(PART_RUNS / max(runs, 1)))
    return {
        f"models-{first}": dict(enumerate(graphs[first : first + size], first))
        for first in range(0, len(graphs), size)
    }


def execute(
    graphs: Sequence[Graph],
    worker_pool: WorkerPool,
    distributions: Sequence[str],
    seed: int,
    units: WorkUnits = ALONE,
    special_share: float = 0.0,
    outside_share: float = 0.0,
) -> ExecutionRecord:
    """Run every model in every backend.

    Args:
        graphs: the models.
        worker_pool: workers, started when there is a model to run.
        distributions: names of the inputs to run with.
        seed: the seed of the inputs.
        units: who runs each part of the models.
        special_share: of the models, those that also run with special inputs of one kind.
        outside_share: of the models, those of which a layer is tried with an invalid value.
    """
    shares = special_share, outside_share
    parts = parts_of(graphs, worker_pool.backends, distributions, sum(shares))
    with LiveLine({name: len(part) for name, part in parts.items()}, units) as line:
        plans = {name: _planned(part, distributions, seed, *shares) for name, part in parts.items()}
        jobs = {
            name: partial(
                _execute, part, worker_pool, plans[name], seed, partial(line.record, name)
            )
            for name, part in parts.items()
        }
        return ExecutionRecord.merged(units.gather(jobs, ExecutionRecord.load))


def _execute(
    graphs: Mapping[int, Graph],
    worker_pool: WorkerPool,
    plan: Sequence[tuple[int, list[str]]],
    seed: int,
    tell: Callable[[int], None],
    checkpoint: Checkpoint | None,
) -> ExecutionRecord:
    """Run a part of the models; a killed run is taken up where it was last saved."""
    worker_pool.start()
    saved = checkpoint.restore(ExecutionRecord.copied) if checkpoint is not None else None
    record = saved if saved is not None else ExecutionRecord()
    tell(len(record))
    before = {i for i in graphs if i in record}
    backends = worker_pool.backends
    tasks = (make_task(i, graphs[i], group, backends, seed) for i, group in plan if i not in before)
    for _, results in groupby(worker_pool.run_all(tasks), key=lambda result: result.index):
        record.add(list(results))
        tell(len(record))
        if checkpoint is not None and checkpoint.is_due():
            checkpoint.save(record.save, FOLDERS)
    return record


def make_task(
    index: int,
    graph: Graph,
    group: Sequence[str],
    backends: Sequence[str],
    seed: int,
) -> Task:
    """A model with inputs; or a layer of it with an invalid configuration.

    Args:
        index: the index of the model.
        graph: the model.
        group: kinds of inputs.
        backends: where it runs, those of them that can do what is asked.
        seed: the seed of the inputs.
    """
    outside = draw_invalid_configuration(graph, seed, index) if OUTSIDE in group else None
    changed: Config = {}
    if outside is not None:
        graph, changed = outside.graph, outside.changed
    inputs = {d: sample_inputs(graph, seed, index, d) for d in group}
    return Task(index, graph, inputs, backends=_asked(backends, group), changed=changed)


class LiveLine:
    """Shows how many models have run, at what rate, and the time left: a bar and log lines.

    What other processes have finished counts too.

    Args:
        sizes: models in each part.
        units: who has finished which part.
    """

    def __init__(self, sizes: Mapping[str, int], units: WorkUnits) -> None:
        self._sizes, self._units = sizes, units
        self._own: dict[str, int] = {}
        self._before = self._count()
        self._began = self._said = time.monotonic()
        self._bar = progress(total=sum(sizes.values()), label="execute", unit="model")
        self._bar.initial = self._bar.n = self._before

    def __enter__(self) -> LiveLine:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def record(self, part: str, models: int) -> None:
        """Record how many models of a part have run in this process."""
        self._own[part] = models
        count, now, total = self._count(), time.monotonic(), sum(self._sizes.values())
        self._bar.update(count - self._bar.n)
        if now - self._said >= _TELL_EVERY and count > self._before:
            self._said = now
            rate = (count - self._before) / (now - self._began)
            log.info(
                "executed",
                models=f"{count:,} of {total:,}",
                models_an_hour=f"{3600 * rate:,.0f}",
                minutes_left=f"{(total - count) / rate / 60:,.0f}",
            )

    def _count(self) -> int:
        finished = self._units.finished(self._sizes)
        own = sum(count for part, count in self._own.items() if part not in finished)
        return own + sum(self._sizes[part] for part in finished)


def _asked(backends: Iterable[str], group: Iterable[str]) -> tuple[str, ...]:
    """The backends that can do what is asked of a model."""
    asked = set(group)
    if asked & set(QUESTIONS):
        return tuple(r for r in backends if plugin_of(library_of(r)).differentiates)
    if asked & {RESIZED, LENGTHENED}:
        return tuple(r for r in backends if plugin_of(library_of(r)).resizes)
    return tuple(backends)


def _groups(distributions: Sequence[str]) -> Iterator[list[str]]:
    """The inputs that a model is run with at a time.

    What is special is a task of its own: where it makes a library fail, the rest still stands.
    Inputs of the same compiled model follow each other, so that it is compiled once.
    """
    alone = (*QUESTIONS, RESIZED, OVERWRITTEN, *FORMS, OUTSIDE, *SPECIAL_DISTRIBUTIONS)
    if together := [d for d in distributions if d not in alone]:
        yield together
    others = (RESIZED, "empty", *FORMS, OUTSIDE)  # of another size, or for another model
    yield from ([d] for d in distributions if d in alone and d not in others)
    yield from ([d] for d in distributions if d in others)


def _planned(
    graphs: Mapping[int, Graph],
    distributions: Sequence[str],
    seed: int,
    special_share: float,
    outside_share: float,
) -> list[tuple[int, list[str]]]:
    """Which models to run with which inputs at a time."""
    planned = []
    for i, graph in graphs.items():
        special = special_inputs(seed, i, special_share)
        more = [] if special is None or special in distributions else [special]
        if OUTSIDE not in distributions and is_invalid_configuration_due(seed, i, outside_share):
            more.append(OUTSIDE)
        for group in _groups([*distributions, *more]):
            if OUTSIDE in group and draw_invalid_configuration(graph, seed, i) is None:
                continue
            if compared_nodes(graph, group):  # or the question cannot be asked
                planned.append((i, group))
    return planned
