"""Workers that run models side by side in every backend."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from asterism.core.files.artifacts import read_arrays, write_json
from asterism.core.messages.console import get_logger
from asterism.core.workers.worker import WorkerLimits
from asterism.differential.adapters.backend_names import (
    REFERENCES,
    all_references,
    check_backends,
    converter_of,
    file_references,
    find_coarse_perturbed_runs,
    library_of,
    option_of,
    plugin_of,
    precision_of,
    reads_given_files,
    select_under_test,
    suffix_of,
)
from asterism.differential.adapters.library import CONVERTERS, GIVEN, FileReference
from asterism.differential.engine.tasks import (
    ExecutionOutcome,
    GivenFile,
    LayerDescription,
    Result,
    Task,
    read_outcome,
)
from asterism.differential.engine.workers import Workers
from asterism.memo.graphs.graph import Graph, Node, sequential
from asterism.memo.universe.tensors import Config, Tensor

log = get_logger(__name__)

#: Models whose steps may be queued at once.
_WINDOW = 6


@dataclass(frozen=True)
class _Submitted:
    """A task whose steps are queued.

    Args:
        task: what is to be run.
        folder: the model's files, shared by the tasks of one model.
        number: the number of the task among them.
        conversions: how each conversion of the model ends, shared likewise.
        steps: how each step of the task ends.
    """

    task: Task
    folder: Path
    number: int
    conversions: dict[str, Future[ExecutionOutcome]]
    steps: dict[str, Future[ExecutionOutcome]] = field(default_factory=dict)

    @property
    def arrays(self) -> Path:
        """The folder of the task's inputs and outputs."""
        return self.folder / f"arrays{self.number}"

    @property
    def inputs(self) -> Path:
        """The file of the task's inputs."""
        return self.arrays / "inputs.npz"

    def outputs(self, backend: str) -> Path:
        """The file of a backend's outputs."""
        return self.arrays / f"{backend.replace(':', '-')}.npz"


class WorkerPool(Workers):
    """Workers for some backends, which run models.

    Args:
        backends: ``library:option``.
        limits: ceilings of a step.
        weights: file of the arrays that nodes may name; None for none.
        environment: more variables for the workers.

    Raises:
        UserError: a backend does not exist, or its environment is not made.
    """

    def __init__(
        self,
        backends: Sequence[str],
        limits: WorkerLimits,
        weights: Path | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        check_backends(b for b in select_under_test(backends) if not reads_given_files(b))
        converters = {c for c in map(converter_of, backends) if c is not None}
        workers = {library: library for library in map(library_of, backends)}
        workers |= {c: CONVERTERS[c].host for c in converters}  # which are slow
        super().__init__(workers, limits, environment)
        self.backends = tuple(backends)
        self.left_out: dict[str, str] = {}
        self._started = False
        self._submitted = 0
        self._weights = weights

    def start(self) -> dict[str, str]:
        """Start all workers at once and check every backend on a trivial model, the first time.

        Returns:
            Backends that are missing or broken, and why. They are left out from here on.
        """
        if self._started:
            return self.left_out
        self._started = True
        self.start_all()
        inputs = {"normal": [np.ones((1, 3), np.float32)]}
        outcomes: dict[str, ExecutionOutcome] = {}
        for model, chosen in trivial_models(self.backends):
            outcomes |= self.run(Task(-1, model, inputs, backends=chosen)).outcomes
        for backend in (b for b in self.backends if b in outcomes):
            outcome = outcomes[backend]
            if outcome.status != "ok":
                broken = self._clients[library_of(backend)].broken
                self.left_out[backend] = broken or f"{outcome.exception} {outcome.message}"
                log.warning("left out", backend=backend, reason=self.left_out[backend])
        return self.left_out

    def usable(self, wanted: Sequence[str] | None = None) -> tuple[str, ...]:
        """The backends that work, of those that are wanted."""
        chosen = self.backends if wanted is None else wanted
        return tuple(r for r in chosen if r not in self.left_out)

    def _asked(self, task: Task) -> tuple[str, ...]:
        """Where a task runs: without the references that have no use for it."""
        backends = self.usable(task.backends)
        coarse = task.dtypes | {precision_of(b) for b in backends}
        useless = {
            run for run, dtype in find_coarse_perturbed_runs().items() if dtype not in coarse
        }
        if not task.is_probed:
            useless.update(*(runs.probes for runs in all_references()))
        return tuple(b for b in backends if b not in useless)

    def described(self, graph: Graph, changed: Config | None = None) -> dict[int, LayerDescription]:
        """What a worker says of each layer, by its node: only workers have Keras.

        It is nothing of a model that Keras rejects.

        Args:
            graph: the model.
            changed: parameters of all layers whose values differ; they may be invalid.
        """
        task = Task(-1, graph, {}, changed=changed or {})
        with self._files(graph) as folder:
            layers = self._ask_keras("describe", task, folder).get("layers", {})
        return {
            int(node): LayerDescription(arguments, [(name, tuple(s)) for name, s in variables])
            for node, (arguments, variables) in layers.items()
        }

    def saved(self, graph: Graph) -> bytes | None:
        """A model as a file of Keras' own; None where Keras rejects it or dies of it."""
        with self._files(graph) as folder:
            target = folder / "model.keras"
            answer = self._ask_keras("save", Task(-1, graph, {}), folder, target=str(target))
            return target.read_bytes() if answer.get("status") == "ok" else None

    def _ask_keras(self, step: str, task: Task, folder: Path, **more: Any) -> dict[str, Any]:
        """What the first worker answers that has Keras and takes the model; nothing if none does.

        The references' workers come first: they build every model anyway.
        """
        first = [library_of(r) for r in REFERENCES]
        with_keras = [n for n, lib in self.libraries.items() if plugin_of(lib).keras_backend]
        for name in dict.fromkeys(n for n in (*first, *with_keras) if n in with_keras):
            answer = self.ask(name, self._request(step, task, folder, step, **more))
            if answer["status"] == "ok":
                return answer
        return {}

    def converted(self, task: Task, converter: str) -> bytes | ExecutionOutcome:
        """The file that a converter makes of a model, or how it failed."""
        with self._files(task.graph) as folder:
            outcome = self._converting(task, folder, converter).result()
            if outcome.status != "ok":
                return outcome
            return (folder / f"{converter}{CONVERTERS[converter].suffix}").read_bytes()

    def _request(
        self, step: str, task: Task, folder: Path, backend: str, **more: Any
    ) -> dict[str, Any]:
        """What a worker is asked about a task."""
        model = {**task.model, "folder": str(folder)}
        if task.weights is None and self._weights is not None:
            model["weights"] = str(self._weights.resolve())
        return {"step": step, "backend": backend, "model": model, **more}

    def run(self, task: Task) -> Result:
        """One model in every backend."""
        (result,) = self.run_all([task])
        return result

    def run_all(self, tasks: Iterable[Task]) -> Iterator[Result]:
        """Models in every backend, in order; the next ones start while earlier ones still run.

        Tasks of one model that follow each other share what is built and converted of it.
        """
        waiting: list[_Submitted] = []
        for task in tasks:
            waiting.append(self._submit(task, waiting[-1] if waiting else None))
            if len(waiting) == _WINDOW:
                yield self._first_of(waiting)
        while waiting:
            yield self._first_of(waiting)

    def _first_of(self, waiting: list[_Submitted]) -> Result:
        """Take the first task out when it has ended; the last one of a model removes its files."""
        first = waiting.pop(0)
        result = self._collect(first)
        if not waiting or waiting[0].folder != first.folder:
            shutil.rmtree(first.folder)
        return result

    def _folder(self, graph: Graph | GivenFile) -> Path:
        """A folder for one task. A worker keeps what it built by folder, so none is used twice."""
        self._submitted += 1
        folder = self.scratch / f"task{self._submitted}"
        folder.mkdir()
        if isinstance(graph, GivenFile):
            (folder / f"{GIVEN}{graph.suffix}").write_bytes(graph.content)
        else:
            write_json(folder / "graph.json", graph.to_json())
        return folder

    @contextmanager
    def _files(self, graph: Graph | GivenFile) -> Iterator[Path]:
        """A folder as :meth:`_folder` makes it, which is removed after the block."""
        folder = self._folder(graph)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def _submit(self, task: Task, before: _Submitted | None) -> _Submitted:
        same = before if before is not None and task.has_model_of(before.task) else None
        folder = self._folder(task.graph) if same is None else same.folder
        number = 0 if same is None else same.number + 1
        submitted = _Submitted(task, folder, number, {} if same is None else same.conversions)
        submitted.arrays.mkdir()
        arrays = {f"{d}/{i}": a for d, many in task.inputs.items() for i, a in enumerate(many)}
        np.savez(submitted.inputs, **arrays)  # type: ignore[arg-type]
        backends = self._asked(task)
        for converter in sorted({c for c in map(converter_of, backends) if c is not None}):
            if converter not in submitted.conversions:
                submitted.conversions[converter] = self._converting(task, folder, converter)
            submitted.steps[converter] = submitted.conversions[converter]
        for backend in backends:
            source = converter_of(backend)
            after = submitted.steps[source] if source is not None else None
            step = self.queued(library_of(backend), self._step, submitted, backend, after)
            submitted.steps[backend] = step
        return submitted

    def _converting(self, task: Task, folder: Path, converter: str) -> Future[ExecutionOutcome]:
        return self.queued(converter, self._convert, task, folder, converter)

    def _convert(self, task: Task, folder: Path, converter: str) -> ExecutionOutcome:
        request = self._request("convert", task, folder, converter)
        answer = self._clients[converter].ask(request, task.seconds)
        return read_outcome(task.index, converter, answer)

    def _step(
        self, submitted: _Submitted, backend: str, after: Future[ExecutionOutcome] | None
    ) -> ExecutionOutcome:
        task = submitted.task
        if after is not None and after.result().status != "ok":
            return ExecutionOutcome(task.index, backend, "convert", "blocked")
        more = {
            "option": option_of(backend),
            "distributions": list(task.inputs),
            "dtype": "float64" if not select_under_test([backend]) else None,
            "inputs": str(submitted.inputs),
            "target": str(submitted.outputs(backend)),
        }
        request = self._request("run", task, submitted.folder, backend, **more)
        answer = self._clients[library_of(backend)].ask(request, task.seconds)
        return read_outcome(task.index, backend, answer)

    def _collect(self, submitted: _Submitted) -> Result:
        task, steps = submitted.task, submitted.steps
        result = Result(
            task.index,
            tuple(task.inputs),
            {name: step.result() for name, step in steps.items()},
            special=task.special,
        )
        for backend in self._asked(task):
            if result.outcomes[backend].status == "ok":
                arrays = read_arrays(submitted.outputs(backend))
                result.outputs[backend] = {
                    kind: [array for name, array in arrays.items() if name.startswith(f"{kind}/")]
                    for kind in task.inputs
                }
        shutil.rmtree(submitted.arrays)
        return result


def trivial_models(
    backends: Sequence[str],
) -> Iterator[tuple[Graph | GivenFile, tuple[str, ...]]]:
    """Models of one input of three numbers, and which of some backends are to run each."""
    if built := tuple(b for b in backends if not reads_given_files(b)):
        dense = Node("Dense", {"units": 2, "dtype": "float32"})
        yield sequential(Tensor((3,)), [lambda _: dense]), built
    for suffix, references in file_references().items():
        if given := tuple(b for b in backends if suffix_of(b) == suffix and reads_given_files(b)):
            reference = plugin_of(references.library)
            assert issubclass(reference, FileReference)
            yield GivenFile(reference.trivial(), suffix), given
