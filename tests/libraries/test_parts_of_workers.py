"""What workers do and how pools are made, without a process for each."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from asterism.core.files.artifacts import write_json
from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.adapters.questions import FIRST
from asterism.differential.engine.inputs import BATCH, sample_inputs
from asterism.differential.engine.tasks import ExecutionOutcome, Task
from asterism.differential.engine.worker import Worker, arrays_of
from asterism.differential.engine.worker_pool import WorkerPool
from libraries.small_results import chained
from libraries.small_runs import request, tasks_of
from memo.small_graphs import layer

GRAPH = chained((4,), layer("ReLU"), layer("Dense", units=4), layer("LeakyReLU"))


class NotedPool(WorkerPool):
    """A pool without processes: it notes its conversions and runs, and gives inputs as outputs."""

    def __init__(self, folder):
        self.backends, self.left_out, self.noted = ("onnxruntime:tf2onnx",), {}, []
        self.scratch, self._submitted = folder, 0
        self._threads = {name: ThreadPoolExecutor(1) for name in ("onnxruntime", "tf2onnx")}

    def _convert(self, task, folder, converter):
        self.noted.append((task.index, converter, folder.name))
        return ExecutionOutcome(task.index, converter, "convert", "ok")

    def _step(self, submitted, backend, after):
        after.result()
        task = submitted.task
        self.noted.append((task.index, *task.inputs, submitted.folder.name))
        shutil.copy(submitted.inputs, submitted.outputs(backend))
        return ExecutionOutcome(task.index, backend, "run", "ok")


def test_tasks_of_one_model_share_what_is_converted_of_it(tmp_path):
    pool, other = NotedPool(tmp_path), chained((2,), layer("ReLU"))
    arrays = {d: [np.full((2, 4), i, np.float32)] for i, d in enumerate(("normal", "nan"))}
    larger = {"resized": [np.ones((5, 4), np.float32)]}
    tasks = [Task(0, GRAPH, {d: a}) for d, a in arrays.items()]
    tasks += [Task(0, GRAPH, larger), Task(1, other, {"normal": arrays["normal"]})]
    results = list(pool.run_all(tasks))
    assert sorted(pool.noted) == sorted(
        [
            *((0, "tf2onnx", "task1"), (0, "normal", "task1"), (0, "nan", "task1")),
            *((0, "tf2onnx", "task2"), (0, "resized", "task2")),
            *((1, "tf2onnx", "task3"), (1, "normal", "task3")),
        ]
    )
    assert [set(result.outcomes) for result in results] == [{"tf2onnx", "onnxruntime:tf2onnx"}] * 4
    for task, result in zip(tasks, results, strict=True):
        for distribution, given in task.inputs.items():
            (found,) = result.outputs["onnxruntime:tf2onnx"][distribution]
            np.testing.assert_array_equal(found, given[0])
    assert not list(tmp_path.iterdir()), "no file is left"


@pytest.mark.parametrize("more", [{"opset": 15}, {"changed": {"units": 0}}, {"outputs": (1,)}])
def test_tasks_of_other_settings_share_nothing(more):
    task = Task(0, GRAPH, {})
    assert task.has_model_of(Task(1, GRAPH, {}))
    assert not task.has_model_of(Task(0, GRAPH, {}, **more))
    assert not task.has_model_of(Task(0, chained((2,), layer("ReLU")), {}))


def test_inputs_of_the_same_compiled_model_follow_each_other_in_what_takes_them():
    named = ["resized", "wide", "split", "overwritten", "lengthened", "normal", "empty", "gradient"]
    backends = ("litert:tflite", "numpy:float64", "tensorflow:graph")
    steps = chained((6, 3), layer("Conv1D", filters=4, kernel_size=[3]))
    tasks = tasks_of([steps], named, backends)
    assert [list(task.inputs) for task in tasks] == [
        *(["wide", "normal"], ["overwritten"], ["gradient"]),
        *(["resized"], ["split"], ["lengthened"], ["empty"]),
    ]
    where = {next(iter(task.inputs)): task.backends for task in tasks}
    assert where["resized"] == where["lengthened"] == backends[1:]
    assert where["gradient"] == backends[2:] and where["wide"] == where["split"] == backends
    (inputs,) = sample_inputs(GRAPH, 0, 0, "resized")
    assert len(inputs) not in (FIRST, BATCH)


class Twice(LIBRARIES["onnxruntime"]):
    """Doubles its inputs, and notes what it is asked."""

    def __init__(self, error=None):
        self.error, self.opened, self.dtypes = error, [], []

    def compile(self, model_under_test, option):
        if self.error is not None:
            raise self.error
        self.opened.append(model_under_test)
        return option

    def run(self, compiled, inputs, kind=""):
        if kind == "gradient":
            raise NotImplementedError(f"{kind} is not supported")
        self.dtypes += [str(array.dtype) for array in inputs]
        return [2 * array for array in inputs]


@pytest.fixture
def request_of(tmp_path):
    values = {"normal/0": np.float32([1, 2]), "normal/1": np.int32([3]), "wide/0": np.float32([9])}
    np.savez(tmp_path / "inputs.npz", **values)
    return partial(request, tmp_path)


def test_a_worker_runs_a_model_and_keeps_it_while_it_is_asked_for(request_of, tmp_path):
    library = Twice()
    worker = Worker(library)
    assert worker.answer(request_of()) == {"status": "ok", "stage": "run"}
    with np.load(tmp_path / "out.npz") as written:
        assert {name: written[name].tolist() for name in written} == {
            "normal/0": [2, 4],
            "normal/1": [6],
        }
    worker.answer(request_of(dtype="float64", distributions=["wide", "normal"]))
    worker.answer(request_of({"outputs": [1]}))
    worker.answer(request_of({"outputs": [1], "weights": str(tmp_path / "w.npz")}))
    assert library.dtypes[:5] == ["float32", "int32", "float64", "float64", "int32"]
    first, again, other, last = library.opened
    assert first is again
    assert len({id(model) for model in (first, other, last)}) == 3
    assert (first.folder, first.opset, first.batch, first.outputs) == (tmp_path, 15, 2, None)
    assert (first.weights, last.weights) == (None, tmp_path / "w.npz")
    assert other.outputs == [1]


def test_names_in_a_model_do_not_depend_on_the_models_before_it(tmp_path):
    graph = chained((5, 3), layer("Bidirectional", layer="LSTM", units=2), layer("Dense", units=2))
    write_json(tmp_path / "graph.json", graph.to_json())
    first, second = (ModelUnderTest(tmp_path).keras() for _ in range(2))
    assert first.name == second.name
    assert [v.path for v in first.variables] == [v.path for v in second.variables]


@pytest.mark.parametrize(("limits", "compiled"), [((), 1), (("might differ",), 2)])
def test_what_is_compiled_is_kept_for_more_inputs_of_the_model(request_of, limits, compiled):
    library = Twice()
    library.stated_limits = limits  # its warnings are those of compiling, too
    worker = Worker(library)
    for distribution in ("normal", "wide"):
        assert worker.answer(request_of(distributions=[distribution]))["status"] == "ok"
    assert len(library.opened) == compiled


def test_what_has_failed_is_compiled_anew(request_of):
    library = Twice()
    worker = Worker(library)
    worker.answer(request_of())
    assert worker.answer(request_of(distributions=["gradient"]))["status"] == "unsupported"
    worker.answer(request_of())
    worker.answer(request_of(dtype="float64"))
    worker.answer(request_of(dtype="float64"))
    assert len(library.opened) == 3


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError("much"), {"status": "memory", "stage": "compile", "message": "much"}),
        (
            ArithmeticError("odd"),
            {"status": "error", "stage": "compile", "message": "odd", "frame": ""}
            | {"exception": "ArithmeticError"},
        ),
    ],
)
def test_a_workers_failures_are_answers(request_of, error, expected):
    assert Worker(Twice(error)).answer(request_of()) == expected


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ArithmeticError("odd"), "unsupported"),
        (ValueError("the shape must be known"), "unsupported"),
        (AttributeError("'NoneType' object has no attribute 'x'"), "error"),
        (RuntimeError("INTERNAL: no such register"), "error"),
        (RuntimeError("Internal error: please report it"), "error"),
        (NotImplementedError("no"), "unsupported"),
    ],
)
def test_only_an_internal_error_on_a_free_length_is_a_failure(request_of, error, status):
    assert Worker(Twice(error)).answer(request_of({"form": "lengthened"}))["status"] == status


def test_results_of_every_library_become_arrays():
    slices = SimpleNamespace(values=np.float32([1, 2]), indices=np.array([0, 3]))
    found = arrays_of(
        {
            "b": (torch.tensor([1.5], dtype=torch.bfloat16, requires_grad=True), None, 7),
            "a": [slices, torch.tensor([1 + 2j]).conj(), {"x": True}],
        }
    )
    assert [(array.tolist(), name) for array, name in found] == [
        ([1, 2], "float32"),
        ([1 - 2j], "complex64"),
        (True, "bool"),
        ([1.5], "bfloat16"),
        (7, "int64"),
    ]
