"""Executing generated models, and storing their outcomes and outputs for the judge."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Self

from asterism.core.files.artifacts import read_arrays, read_json, write_arrays, write_json
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError, concerning
from asterism.core.resuming.checkpoints import Checkpoint, appended
from asterism.core.resuming.work_units import ALONE, WorkUnits
from asterism.core.workers.worker import Limits
from asterism.libraries.adapters.backends import FLOAT64, is_backend, library_of, plugin_of
from asterism.libraries.running.inputs import (
    GRADIENT,
    SPECIAL_DISTRIBUTIONS,
    compared_nodes,
    sample_inputs,
)
from asterism.libraries.running.outcomes import ExecutionOutcome
from asterism.libraries.running.params import ExecuteParams
from asterism.libraries.running.worker_pool import Result, Task, WorkerPool
from asterism.memo.graphs.graph import Graph

#: Models that are run by one process: a part of the work.
GROUP = 50

#: Folders in the state of a group to which files are added as models have run.
_OUTCOMES, _OUTPUTS = STATE = ("outcomes", "outputs")


@dataclass
class Record:
    """Outcomes and outputs of all tasks (a model, its inputs); equal arrays are kept once."""

    tasks: list[dict[str, Any]] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)
    #: Where it was read, for messages.
    source: str = "what was executed"

    def add(self, result: Result) -> None:
        """Count a model in."""
        outputs = {
            backend: {
                distribution: [self._keep(a) for a in many]
                for distribution, many in distributions.items()
            }
            for backend, distributions in result.outputs.items()
        }
        outcomes = [result.outcomes[r].to_json() for r in sorted(result.outcomes)]
        facts = {"index": result.index, "distributions": list(result.distributions)}
        self.tasks.append({**facts, "outcomes": outcomes, "outputs": outputs})

    def _keep(self, array: Any) -> str:
        facts = f"{array.dtype}{array.shape}".encode()
        name = hashlib.sha256(facts + array.tobytes()).hexdigest()[:20]
        self.arrays[name] = array
        return name

    def result(self, at: int) -> Result:
        """The result of one task, as the worker pool gave it."""
        model = self.tasks[at]
        return Result(
            model["index"],
            tuple(model["distributions"]),
            {o["backend"]: ExecutionOutcome.from_json(o) for o in model["outcomes"]},
            {
                backend: {
                    distribution: [self.arrays[n] for n in names]
                    for distribution, names in distributions.items()
                }
                for backend, distributions in model["outputs"].items()
            },
        )

    def save(self, folder: Path) -> None:
        """Write ``outcomes.json`` and ``outputs.npz``."""
        write_json(folder / "outcomes.json", self.tasks)
        write_arrays(folder / "outputs.npz", **{n: self.arrays[n] for n in sorted(self.arrays)})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What :meth:`save` wrote."""
        return cls.read(folder / "outcomes.json", folder / "outputs.npz")

    @classmethod
    def read(cls, outcomes: Path, outputs: Path) -> Self:
        """A record of these two files."""
        tasks = read_json(outcomes)
        if not isinstance(tasks, list):
            raise UserError(f"{outcomes} holds no list of tasks")
        return cls(tasks, read_arrays(outputs), str(outcomes))

    def results(self, models: int) -> Iterator[Result]:
        """The results of all tasks.

        Args:
            models: number of models, which tasks refer to by an index from 0.

        Raises:
            UserError: the record is damaged, or names a model or a backend that does not exist.
        """
        for at in range(len(self.tasks)):
            with concerning(f"task {at} of {self.source}"):
                try:
                    result = self.result(at)
                except (KeyError, TypeError, AttributeError, IndexError) as error:
                    raise UserError(f"it is no result: {error!r}") from None
                if not isinstance(result.index, int) or not 0 <= result.index < models:
                    raise UserError(f"there is no model {result.index!r}")
                named = {r for r in (*result.outcomes, *result.outputs) if not is_backend(r)}
                for backend in sorted(named):
                    raise UserError(f"there is no backend {backend!r}")
            yield result

    @classmethod
    def merged(cls, groups: Iterable[Self]) -> Self:
        """All groups as one; they are in the order of their models."""
        whole = cls()
        for group in groups:
            whole.tasks += group.tasks
            whole.arrays |= group.arrays
        return whole


def open_worker_pool(params: ExecuteParams, weights: Path) -> WorkerPool:
    """Workers for the backends under test and the references."""
    backends = (*params.backends, *FLOAT64)
    return WorkerPool(
        tuple(dict.fromkeys(backends)), Limits(params.hang_seconds, params.memory_mb), weights
    )


def execute(
    graphs: Sequence[Graph],
    worker_pool: WorkerPool,
    distributions: Sequence[str],
    seed: int,
    units: WorkUnits = ALONE,
) -> Record:
    """Run every model in every backend.

    Args:
        graphs: the models.
        worker_pool: workers, started when there is a model to run.
        distributions: names of the inputs to run with.
        seed: of the inputs.
        units: who runs each group of models.
    """
    jobs = {
        f"models-{first}": partial(
            _execute,
            dict(islice(enumerate(graphs), first, first + GROUP)),
            worker_pool,
            distributions,
            seed,
        )
        for first in range(0, len(graphs), GROUP)
    }
    return Record.merged(units.gather(jobs, Record.load))


def _execute(
    graphs: dict[int, Graph],
    worker_pool: WorkerPool,
    distributions: Sequence[str],
    seed: int,
    checkpoint: Checkpoint | None,
) -> Record:
    """Run a group of models, by number; a killed run is taken up where it was last saved."""
    worker_pool.start()
    saved = checkpoint.restore(_restored) if checkpoint is not None else None
    record = saved if saved is not None else Record()
    planned = _planned(graphs, distributions)[len(record.tasks) :]
    differentiating = tuple(
        r for r in worker_pool.backends if plugin_of(library_of(r)).differentiates
    )
    tasks = (
        Task(
            i,
            graphs[i],
            {d: sample_inputs(graphs[i], seed, i, d) for d in group},
            backends=differentiating if GRADIENT in group else None,
        )
        for i, group in planned
    )
    for result in progress(
        worker_pool.run_all(tasks), total=len(planned), label="execute", unit="model"
    ):
        record.add(result)
        if checkpoint is not None and checkpoint.is_due():
            checkpoint.save(partial(append, record), STATE)
    return record


def append(record: Record, folder: Path) -> None:
    """Add to a state what the record holds beyond it, with the arrays that are new."""
    before = record.tasks[: appended(folder / _OUTCOMES)]
    tasks = record.tasks[len(before) :]
    new = sorted(_arrays_of(tasks) - _arrays_of(before))
    name = f"{len(record.tasks):08d}"
    write_json(folder / _OUTCOMES / f"{name}.json", tasks)
    write_arrays(folder / _OUTPUTS / f"{name}.npz", **{n: record.arrays[n] for n in new})


def _restored(folder: Path) -> Record:
    """What :func:`append` has written."""
    return Record.merged(
        Record.read(path, folder / _OUTPUTS / f"{path.stem}.npz")
        for path in sorted((folder / _OUTCOMES).glob("*.json"))
    )


def _arrays_of(tasks: Iterable[dict[str, Any]]) -> set[str]:
    """Names of the outputs of some tasks."""
    return {
        name
        for task in tasks
        for distributions in task["outputs"].values()
        for names in distributions.values()
        for name in names
    }


def _planned(graphs: dict[int, Graph], distributions: Sequence[str]) -> list[tuple[int, list[str]]]:
    """Which models to run with which inputs at a time.

    What is special is a task of its own: where it makes a library fail, the rest still stands.
    """
    alone = (GRADIENT, *SPECIAL_DISTRIBUTIONS)
    groups = [
        [d for d in distributions if d not in alone],
        *([d] for d in distributions if d in alone),
    ]
    return [
        (i, group)
        for i, graph in graphs.items()
        for group in groups
        if group and compared_nodes(graph, group)  # integers have no gradient
    ]
