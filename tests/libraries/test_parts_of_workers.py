"""What workers do and how pools are made, without a process for each."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from asterism.core.workers.worker import Limits
from asterism.differential.adapters.backends import FLOAT64
from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.engine import branch_reward as rewarding
from asterism.differential.engine import execution, worker_client
from asterism.differential.engine.array_files import INPUTS, outputs_file
from asterism.differential.engine.branches import SWITCH
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.params import ExecuteParams
from asterism.differential.engine.tasks import (
    Task,
    task_request,
    worker_of,
)
from asterism.differential.engine.worker import Worker, _describe, _of_free_length
from asterism.differential.engine.worker_client import WorkerClient
from asterism.differential.engine.worker_environment import variables
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer

GRAPH = sequential(Tensor((4,)), [layer("ReLU"), layer("Dense", units=4), layer("LeakyReLU")])


class FakePool:
    """Notes how a pool is made and that it is started and closed."""

    def __init__(self, *facts):
        self.facts, self.events = facts, []

    def start(self):
        self.events.append("start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.events.append("close")


def test_a_reward_has_workers_of_its_own_that_measure_branches(monkeypatch):
    monkeypatch.setattr(rewarding, "WorkerPool", FakePool)
    with rewarding.branch_reward(["jax:jit"], Path("w.npz"), 4) as reward:
        pool = reward._worker_pool
        assert pool.events == ["start"]
    assert pool.events == ["start", "close"]
    backends, limits, weights, environment = pool.facts
    assert (backends, weights, environment) == (["jax:jit"], Path("w.npz"), {SWITCH: "1"})
    assert (limits.seconds, limits.memory_mb) == (240, 3000)


def test_branches_of_several_rewards_are_counted_once():
    one = {"branches": ["a/b/c.py:1:2", "a/b/c.py:1:3"], "exits": {"a/b/c.py": 4}}
    other = {"branches": ["a/b/c.py:1:2", "d/e/f.py:1:2"], "exits": {"d/e/f.py": 2}}
    assert rewarding.branch_table([one, other]) == {
        "module": ["a/b", "d/e"],
        "reached": [2, 1],
        "branches": [4, 2],
    }


def test_a_run_has_workers_for_its_backends_and_the_references(monkeypatch):
    monkeypatch.setattr(execution, "WorkerPool", FakePool)
    params = ExecuteParams.model_construct(
        backends=["jax:jit", FLOAT64[0]], hang_seconds=5, memory_mb=600
    )
    pool = execution.open_worker_pool(params, Path("w.npz"))
    rest = tuple(backend for backend in FLOAT64 if backend != FLOAT64[0])
    assert pool.facts == (("jax:jit", FLOAT64[0], *rest), Limits(5, 600), Path("w.npz"))


def test_converters_run_in_their_own_worker_or_their_hosts(monkeypatch):
    kinds = {
        "mine": SimpleNamespace(own_worker=True, host="pytorch"),
        "other": SimpleNamespace(own_worker=False, host="pytorch"),
    }
    monkeypatch.setattr("asterism.differential.engine.tasks.CONVERTERS", kinds)
    assert (worker_of("mine"), worker_of("other")) == ("mine", "pytorch")


def test_a_conversion_is_asked_of_its_worker(tmp_path):
    asked = []
    answer = {"stage": "convert", "status": "error", "exception": "E", "message": "m", "frame": "f"}
    client = SimpleNamespace(
        ask=lambda request, seconds: (asked.append((request, seconds)), answer)[1]
    )
    pool = SimpleNamespace(_clients={"tf2onnx": client}, _weights=tmp_path / "weights.npz")
    task = Task(4, GRAPH, {}, seconds=2.5)
    found = WorkerPool._convert(pool, task, tmp_path, "tf2onnx")
    request = task_request(task, tmp_path, tmp_path / "weights.npz")
    assert asked == [({**request, "step": "convert", "backend": "tf2onnx"}, 2.5)]
    assert (request["folder"], request["weights"]) == (
        *(str(tmp_path), str(tmp_path / "weights.npz")),
    )
    assert (request["opset"], request["batch"], request["disabled"]) == (None, None, [])
    assert (found.model, found.backend, found.stage, found.status) == (
        *(4, "tf2onnx", "convert", "error"),
    )
    assert (found.exception, found.message, found.frame) == ("E", "m", "f")


class NotedPool(WorkerPool):
    """A pool without processes: it notes its conversions and runs, and gives inputs as outputs."""

    def __init__(self, folder):
        self.backends, self.left_out, self.noted = ("onnxruntime:tf2onnx",), {}, []
        self._scratch, self._submitted = folder, 0
        self._threads = {name: ThreadPoolExecutor(1) for name in ("onnxruntime", "tf2onnx")}

    def _convert(self, task, folder, converter):
        self.noted.append((task.index, converter, folder.name))
        return ExecutionOutcome(task.index, converter, "convert", "ok")

    def _step(self, task, folder, arrays, backend, after):
        after.result()
        self.noted.append((task.index, *task.inputs, folder.name))
        shutil.copy(arrays / INPUTS, arrays / outputs_file(backend))
        return ExecutionOutcome(task.index, backend, "run", "ok")


def test_tasks_of_one_model_share_what_is_converted_of_it(tmp_path):
    pool, other = NotedPool(tmp_path), sequential(Tensor((2,)), [layer("ReLU")])
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


@pytest.mark.parametrize(
    "more", [{"opset": 15}, {"disabled": ("pass",)}, {"changed": {"units": 0}}, {"outputs": (1,)}]
)
def test_tasks_of_other_settings_share_nothing(more):
    task = Task(0, GRAPH, {})
    assert task.has_model_of(Task(1, GRAPH, {}))
    assert not task.has_model_of(Task(0, GRAPH, {}, **more))
    assert not task.has_model_of(Task(0, sequential(Tensor((2,)), [layer("ReLU")]), {}))


def test_inputs_of_the_same_compiled_model_follow_each_other():
    named = ["resized", "wide", "split", "overwritten", "normal", "empty", "gradient"]
    assert list(execution._groups(named)) == [
        *(["wide", "normal"], ["overwritten"], ["gradient"], ["resized"], ["split"], ["empty"]),
    ]


def raised(kind, message, where):
    """An exception that a file raised."""
    names = {"kind": kind, "message": message}
    try:
        exec(compile("def inner():\n    raise kind(message)\ninner()", where, "exec"), names)
    except BaseException as error:
        return error


class OddError(Exception):
    """An exception of nobody's."""


@pytest.mark.parametrize(
    ("error", "status", "name", "frame"),
    [
        (raised(ValueError, "it broke", "x.py"), "error", "ValueError", ""),
        (
            raised(ValueError, "it broke", "/v/site-packages/lib/a.py"),
            *("error", "ValueError", "lib/a.py:inner"),
        ),
        (
            raised(OddError, "it broke", "/v/site-packages/tf/traceback_utils.py"),
            *("error", f"{__name__}.OddError", ""),
        ),
        (raised(NotImplementedError, "no", "x.py"), "unsupported", "NotImplementedError", ""),
        (raised(ValueError, "is not supported", "x.py"), "unsupported", "ValueError", ""),
        (raised(ValueError, "a word of mine", "x.py"), "unsupported", "ValueError", ""),
    ],
)
def test_an_exception_is_told_with_the_library_s_innermost_frame(error, status, name, frame):
    plugin = SimpleNamespace(unsupported=(r"word of mine",))
    assert _describe(error, plugin) == {
        "status": status,
        "exception": name,
        "message": str(error),
        "frame": frame,
    }


class Twice(LIBRARIES["onnxruntime"]):
    """Doubles its inputs, and notes what it is asked."""

    def __init__(self, error=None):
        self.error, self.opened, self.dtypes = error, [], []

    def compile(self, model_under_test, option):
        if self.error is not None:
            raise self.error
        self.opened.append(model_under_test)
        return option

    def answer(self, compiled, question, inputs):
        raise NotImplementedError(f"{question} is not supported")

    def run(self, compiled, inputs):
        self.dtypes += [str(array.dtype) for array in inputs]
        return [2 * array for array in inputs]


@pytest.fixture
def request_of(tmp_path):
    values = {"normal/0": np.float32([1, 2]), "normal/1": np.int32([3]), "wide/0": np.float32([9])}
    np.savez(tmp_path / "inputs.npz", **values)
    facts = {"folder": str(tmp_path), "weights": None, "outputs": None, "opset": 15, "batch": 2}
    facts |= {"step": "run", "backend": "b", "option": "o", "distributions": ["normal"]}
    facts |= {"disabled": [], "form": "", "changed": {}}
    facts |= {"dtype": None, "arrays": str(tmp_path), "target": "out.npz"}
    return lambda **more: facts | more


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
    worker.answer(request_of(outputs=[1]))
    worker.answer(request_of(outputs=[1], weights=str(tmp_path / "w.npz")))
    assert library.dtypes[:5] == ["float32", "int32", "float64", "float64", "int32"]
    first, again, other, last = library.opened
    assert first is again
    assert len({id(model) for model in (first, other, last)}) == 3
    assert (first.folder, first.opset, first.batch, first.outputs) == (tmp_path, 15, 2, None)
    assert (first._weights, last._weights) == (None, tmp_path / "w.npz")
    assert other.outputs == [1]


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
    assert Worker(Twice(error)).answer(request_of(form="lengthened"))["status"] == status


def test_what_keras_says_of_a_free_length_while_it_builds_is_a_rejection():
    answer = {"status": "error", "stage": "build", "exception": "AttributeError", "message": ""}
    assert _of_free_length(answer)["status"] == "unsupported"
    assert _of_free_length({**answer, "stage": "convert"})["status"] == "error"


class Process:
    """Stands for a worker's process: what it answers, and that it is stopped."""

    def __init__(self, answer):
        self.pid, self._answer, self.events = None, answer, []

    def start(self):
        self.events.append("start")
        self.pid = 7

    def receive(self, limits):
        return memoryview(json.dumps(self._answer).encode())

    def stop(self):
        self.events.append("stop")
        self.pid = None


def test_a_worker_that_cannot_serve_is_stopped_and_not_started_again():
    client = WorkerClient("onnxruntime", Limits(5, 600))
    client._worker = broken = Process({"status": "broken", "message": "it does not start"})
    assert not client.start()
    assert not client.start()
    assert (client.broken, client.pid) == ("it does not start", None)
    assert broken.events == ["start", "stop"]
    answer = client.ask({"step": "run"})
    assert answer == {"status": "blocked", "stage": "compile", "message": "it does not start"}
    client = WorkerClient("onnxruntime", Limits(5, 600))
    client._worker = ready = Process({"status": "ready"})
    assert client.start() and client.start()
    assert ready.events == ["start"]


@pytest.mark.parametrize("more", [None, {"MINE": "1", "KERAS_BACKEND": "mine"}])
def test_a_workers_environment_is_the_librarys_and_what_is_given(monkeypatch, more):
    made = []
    monkeypatch.setattr(
        worker_client, "WorkerProcess", lambda *facts, **_: (made.append(facts), Process({}))[1]
    )
    client = WorkerClient("jax", Limits(5, 600), more)
    ((serve, words, environment, forks),) = made
    assert (serve, words, forks) == (worker_client.serve, ["jax"], None)
    assert environment == {**variables("jax"), **(more or {})}
    assert environment["KERAS_BACKEND"] == ("mine" if more else "jax")
    client._worker.start()
    client.stop()
    assert client._worker.events == ["start", "stop"]


def test_steps_are_timed_as_the_worker_says():
    client = WorkerClient("onnxruntime", Limits(5, 600))
    client._worker = process = Process({"status": "ok", "seconds": 0.25})
    process.pid, process.send = 7, lambda content, limits: None
    for _ in range(2):
        answer = client.ask({"step": "run", "backend": "b"})
        assert answer == {"stage": "run", "status": "ok"}
    assert client.seconds == {"b": 0.5}
