"""Parts of running, triage and reporting, with workers and processes that are made up."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from asterism.core.workers.worker import Limits
from asterism.libraries.adapters.backends import FLOAT64
from asterism.libraries.adapters.library import LIBRARIES
from asterism.libraries.judging.finding import Finding
from asterism.libraries.judging.oracle import judge
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting import bug_reports, confirming, keras_files, repeating
from asterism.libraries.reporting.bug_reports import Report, Reporter, folder_name
from asterism.libraries.reporting.confirming import exit_status, exit_statuses
from asterism.libraries.running import branch_reward as rewarding
from asterism.libraries.running import execution, worker_client
from asterism.libraries.running.branches import SWITCH
from asterism.libraries.running.outcomes import ExecutionOutcome
from asterism.libraries.running.params import ExecuteParams
from asterism.libraries.running.worker import Worker, _describe
from asterism.libraries.running.worker_client import WorkerClient
from asterism.libraries.running.worker_environment import variables
from asterism.libraries.running.worker_pool import Result, Task, WorkerPool, _worker_of
from asterism.libraries.triage.ablation import ablate, with_dtype
from asterism.libraries.triage.groups import layer_at_fault
from asterism.libraries.triage.localise import first_diverging
from asterism.libraries.triage.reproduction import Reproduced, Reproduction
from asterism.libraries.triage.shrink import isolated
from asterism.libraries.triage.triage import UniqueFinding, _kind
from asterism.memo.graphs.graph import INPUT, Graph, Node, input_node, sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer

JUDGE = JudgeParams(ulps=64, conditioning=8)
GRAPH = sequential(Tensor((4,)), [layer("ReLU"), layer("Dense", units=4), layer("LeakyReLU")])
RIGHT = np.linspace(-2, 2, 8).reshape(2, 4)


def finding(symptom="values differ", library="jax", distributions=("normal",), **more):
    facts = {"backends": (f"{library}:jit",), "distributions": distributions} | more
    return Finding(3, symptom, "run", library, **facts)


def unique(found=None, **more):
    return UniqueFinding("a | b", found or finding(), GRAPH, None, {5, 3}, 4, **more)


# ---- where values first go wrong


class Putting:
    """A worker pool whose library is wrong at some nodes, for some inputs."""

    def __init__(self, wrong):
        self.wrong = wrong
        self.tasks = []

    def run(self, task):
        self.tasks.append(task)
        outputs = {}
        for backend in task.backends:
            outputs[backend] = {}
            for distribution in task.inputs:
                bad = self.wrong.get(distribution, ()) if backend == "jax:jit" else ()
                dtype = np.float64 if backend in FLOAT64 else np.float32
                outputs[backend][distribution] = [
                    (RIGHT + 10 * (node in bad)).astype(dtype) for node in task.outputs
                ]
        return Result(task.index, tuple(task.inputs), {}, outputs)


@pytest.mark.parametrize(
    ("wrong", "first"),
    [
        ({}, None),
        ({"normal": {1, 2, 3}}, 1),
        ({"normal": {2, 3}}, 2),
        ({"normal": {3}}, 3),
        ({"wide": {3}}, 3),
        ({"normal": {2}, "wide": {1}}, 2),
    ],
)
def test_the_first_layer_that_is_wrong_on_right_inputs_is_found(wrong, first):
    pool = Putting(wrong)
    inputs = {"normal": [RIGHT], "wide": [RIGHT]}
    found = first_diverging(pool, Task(7, GRAPH, inputs), "jax:jit", JUDGE)
    assert found == first
    (task,) = pool.tasks
    assert (task.index, task.outputs) == (7, (1, 2, 3))
    assert task.backends == ("jax:jit", *FLOAT64)
    assert task.inputs is inputs


def test_a_layer_behind_a_wrong_one_is_not_at_fault():
    """Of two branches the second goes wrong by itself, behind a layer that the first spoils."""
    relu = {"dtype": "float32"}
    graph = Graph(
        {
            0: input_node((4,)),
            1: Node("ReLU", relu, (0,)),
            2: Node("ReLU", relu, (0,)),
            3: Node("Add", relu, (1, 2)),
        }
    )
    pool = Putting({"normal": {2, 3}})
    assert first_diverging(pool, Task(0, graph, {"normal": [RIGHT]}), "jax:jit", JUDGE) == 2


# ---- what is varied


class Shows:
    """A finding that shows where a condition holds."""

    def __init__(self, holds):
        self._holds = holds

    def look(self, graph, found, **options):
        dtypes = {n.config.get("dtype") for n in graph.nodes.values()}
        return Reproduced(found if self._holds(dtypes, found, options) else None, {})


@pytest.mark.parametrize(
    ("holds", "shown"),
    [
        (lambda dtypes, found, options: True, None),
        (lambda dtypes, found, options: dtypes == {"float64"}, {"dtype float64"}),
        (lambda dtypes, found, options: dtypes == {"float16"}, {"dtype float16"}),
        (lambda dtypes, found, options: found.distributions == ("wide",), {"input wide"}),
        (lambda dtypes, found, options: options.get("batch") == 1, {"batch of 1"}),
        (lambda dtypes, found, options: options.get("opset") == 15, {"tf2onnx opset 15"}),
    ],
)
def test_each_variation_is_tried_alone(holds, shown):
    found = finding(library="onnxruntime", backends=("onnxruntime:tf2onnx",))
    answers = ablate(Shows(holds), GRAPH, found, ["normal", "wide"])
    assert list(answers) == [
        *("dtype float32", "dtype float64", "dtype float16", "input normal", "input wide"),
        *("tf2onnx opset 13", "tf2onnx opset 15", "tf2onnx opset 17", "batch of 1"),
    ]
    expected = set(answers) if shown is None else shown
    assert {what for what, answer in answers.items() if answer == "shows"} == expected
    assert set(answers.values()) <= {"shows", "gone"}


def test_another_dtype_leaves_integers():
    graph = Graph(
        {
            0: input_node((3,), "int32"),
            1: Node("Embedding", {"input_dim": 5, "output_dim": 2, "dtype": "float32"}, (0,)),
        }
    )
    found = with_dtype(graph, "float16")
    assert [node.config["dtype"] for node in found.nodes.values()] == ["int32", "float16"]
    assert found.nodes[1].config["output_dim"] == 2
    assert graph.nodes[1].config["dtype"] == "float32"


def test_findings_of_one_kind_agree_in_all_that_tells_kinds_apart():
    kinds = [
        finding(),
        finding(symptom="wrong shape"),
        finding(library="openvino"),
        finding(severity="special"),
        finding(distributions=("gradient",)),
    ]
    assert _kind(kinds[0]) == _kind(finding(distributions=("wide",), excess=9.0))
    assert len({_kind(one) for one in kinds}) == len(kinds)


def test_a_model_is_called_reduced_only_where_it_is():
    for layers, said in ((4, "reduced from 4 layers to 3"), (3, "of 3 layers as before")):
        found = UniqueFinding("s", finding(), GRAPH, None, set(), layers)
        assert found.minimality == f"minimal, {said}"
    one = sequential(Tensor((4,)), [layer("ReLU")])
    assert UniqueFinding("s", finding(), one, None, set(), 1).minimality.endswith(
        "of 1 layer as before"
    )


# ---- reports


def test_a_folder_is_named_by_library_symptom_and_signature():
    found = unique(finding(symptom="NaN/Inf mask differs", library="ONNX runtime"))
    digest = hashlib.sha256(b"a | b").hexdigest()[:8]
    assert folder_name(found) == f"onnx-runtime-nan-inf-mask-differs-{digest}"


def test_the_list_of_findings_tells_all_of_one():
    found = unique(ablation={"batch of 1": "gone"})
    found.layer = layer_at_fault(GRAPH, 1)
    report = Report("folder", "a | b", (1, 1, 0), "link")
    told = report.to_json(found)
    json.dumps(told)
    assert told == {
        "folder": "folder",
        "signature": "a | b",
        "confirmed": [1, 1, 0],
        "known": "link",
        "layer": "ReLU()",
        "models": [3, 5],
        "layers": 3,
        "original_layers": 4,
        "minimality": "minimal, reduced from 4 layers to 3",
        "ablation": {"batch of 1": "gone"},
        "finding": found.finding.to_json(),
        "graph": GRAPH.to_json(),
    }
    assert Report("f", "s", (), "").to_json(unique())["layer"] == ""
    assert not report.reproduced
    assert Report("f", "s", (1, 1), "").reproduced


def test_a_reporter_writes_the_script_confirms_it_and_then_reports(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(bug_reports, "_script", lambda *facts: (asked.append(facts), "text\n")[1])
    monkeypatch.setattr(
        bug_reports, "exit_statuses", lambda script, times: (asked.append((script, times)), (1,))[1]
    )
    known = {"x": "other", "a |": "the link"}
    found = unique(ablation={"batch of 1": "gone"})
    with Reporter("pool", JUDGE, 9, {"stored": 1}, tmp_path, known) as reporter:
        reporter.start(found)
        report = reporter.finish(found)
    folder = tmp_path / folder_name(found)
    assert asked == [(found, "pool", JUDGE, 9, {"stored": 1}), (folder / "repro.py", 3)]
    assert report == Report(folder.name, "a | b", (1,), "the link")
    assert json.loads((folder / "model.json").read_text()) == json.loads(
        json.dumps(GRAPH.to_json())
    )
    assert (folder / "repro.py").read_text() == "text\n"
    text = (folder / "report.md").read_text()
    assert text.startswith("# jax: values differ")
    assert "the link" in text
    assert "| batch of 1 | gone |" in text


def test_a_reporter_that_ends_confirms_nothing_more(tmp_path):
    ran = []
    with Reporter(None, JUDGE, 0, {}, tmp_path, {}) as reporter:
        reporter._pool._max_workers = 1
        blocked = Future()
        waiting = [reporter._pool.submit(blocked.result), reporter._pool.submit(ran.append, 1)]
        reporter._pool.submit(ran.append, 2)
        while not waiting[0].running():
            pass
        shutdown = reporter._pool.shutdown

        def release(**options):
            shutdown(wait=False, **options)
            blocked.set_result(None)
            shutdown()

        reporter._pool.shutdown = release
    assert waiting[1].cancelled()
    assert ran == []


# ---- confirming


class Ended:
    """Stands for the processes of scripts: what is asked of them, and how they end."""

    def __init__(self, monkeypatch, last=1, before=None):
        self.asked, self._last, self._before = [], last, before
        monkeypatch.setattr(confirming, "run_alone", self.run)

    def run(self, command, seconds, *, cwd, env, stdout, stderr):
        self.asked.append(
            (command[1:], seconds, {k: env.get(k) for k in ("MINE", "OPENBLAS_NUM_THREADS")})
        )
        assert command[0] == sys.executable
        assert env["TMPDIR"] == cwd
        assert stdout == stderr == subprocess.DEVNULL
        assert Path(cwd).is_dir()
        if self._before is not None and "-m" in command:
            Path(command[-1]).write_text(json.dumps(self._before))
        return self._last


SCRIPT = "import os\nos.environ['MINE'] = 'yes'\nimport keras\nos.environ['MINE'] = 'late'\n"


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    path = tmp_path / "repro.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_runs_once_by_itself(script, monkeypatch):
    ended = Ended(monkeypatch, last=7)
    assert exit_status(script) == 7
    assert ended.asked == [([str(script)], 300, {"MINE": "yes", "OPENBLAS_NUM_THREADS": None})]


def test_several_runs_share_an_import_where_that_is_safe(script, monkeypatch):
    ended = Ended(monkeypatch, last=0, before=[1, 124])
    assert exit_statuses(script, 3) == (1, 124, 0)
    ((command, seconds, environment),) = ended.asked
    assert command[:-1] == ["-m", repeating.__name__, str(script), "3", "300"]
    assert Path(command[-1]).name == "statuses.json"
    assert (seconds, environment) == (900, {"MINE": "yes", "OPENBLAS_NUM_THREADS": "1"})


@pytest.mark.parametrize("before", [[], None])
def test_where_it_is_not_safe_each_run_is_alone(script, monkeypatch, before):
    ended = Ended(monkeypatch, last=None, before=before)
    assert exit_statuses(script, 3) == (124, 124, 124)
    assert [seconds for _, seconds, _ in ended.asked] == [900, 300, 300]
    assert ended.asked[1][0] == [str(script)]


def test_a_script_that_is_no_python_is_not_run(script, monkeypatch):
    ended = Ended(monkeypatch)
    script.write_text("def (")
    assert exit_statuses(script, 2) == (2, 2)
    assert ended.asked == []


def test_only_what_is_set_before_keras_is_set_for_the_import():
    lines = ["os.environ['A'] = '1'", "x = 2", "os.environ['B'] = str(x)", "environ['C'] = '3'"]
    lines += ["import numpy", "os.environ['D'] = '4'", "import keras", "os.environ['E'] = '5'"]
    assert confirming._environment("\n".join(lines)) == {"A": "1", "D": "4"}


@pytest.mark.parametrize(
    ("command", "status"),
    [("exit 3", 3), ("exit 0", 0), ("kill -9 $$", -signal.SIGKILL), ("exec sleep 60", 124)],
)
def test_a_child_is_awaited_up_to_its_limit(monkeypatch, command, status):
    monkeypatch.setattr(repeating, "_LOOK_SECONDS", 0.002)
    child = subprocess.Popen(["sh", "-c", command])
    limit = 0.05 if status == 124 else 60
    assert repeating._awaited(child.pid, limit) == status
    child.returncode = 0  # it has been waited for


@pytest.mark.parametrize(
    ("imported", "lone", "times", "expected"),
    [
        (True, True, 3, [5, 6]),
        (True, True, 1, []),
        (False, True, 3, []),
        (True, False, 3, []),
    ],
)
def test_the_runs_before_the_last_are_forked_where_it_is_safe(
    tmp_path, monkeypatch, imported, lone, times, expected
):
    awaited, forked = iter([5, 6]), iter([41, 42])
    asked = []
    monkeypatch.setattr(repeating, "_is_imported", lambda: imported)
    monkeypatch.setattr(repeating, "_has_one_thread", lambda: lone)
    monkeypatch.setattr(os, "fork", lambda: next(forked))
    monkeypatch.setattr(
        repeating, "_awaited", lambda *facts: (asked.append(facts), next(awaited))[1]
    )
    repeating.go_on_to_run(times, 7.5, tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text()) == expected
    assert asked == [(41, 7.5), (42, 7.5)][: len(expected)]


def test_a_fork_goes_on_at_once(tmp_path, monkeypatch):
    parents = []
    monkeypatch.setattr(repeating, "_is_imported", lambda: True)
    monkeypatch.setattr(repeating, "_has_one_thread", lambda: True)
    monkeypatch.setattr(os, "fork", lambda: 0)
    monkeypatch.setattr(repeating, "killed_with_parent", parents.append)
    repeating.go_on_to_run(3, 1.0, tmp_path / "s.json")
    assert parents == [os.getpid()]
    assert not (tmp_path / "s.json").exists()


def test_whether_keras_is_there_and_threads_are_not(monkeypatch):
    from threading import Event, Thread

    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace())
    assert repeating._is_imported()
    monkeypatch.setitem(sys.modules, "keras", None)
    assert not repeating._is_imported()
    ended = Event()
    thread = Thread(target=ended.wait)
    thread.start()
    assert not repeating._has_one_thread()
    ended.set()
    thread.join()


# ---- files of Keras' own


def test_models_are_written_by_name_and_a_rejected_one_is_left_out(tmp_path, monkeypatch):
    cleared, built = [], []
    keras = SimpleNamespace(
        backend=SimpleNamespace(clear_session=lambda: cleared.append(len(built)))
    )

    def build(graph, stored):
        built.append((graph, stored))
        if graph == "bad":
            raise ValueError("rejected")
        return f"model of {graph}"

    asked = []
    monkeypatch.setattr(keras_files, "import_keras", lambda name: (asked.append(name), keras)[1])
    monkeypatch.setattr(keras_files, "read_weights", lambda path: f"weights of {path.name}")
    monkeypatch.setattr(keras_files, "read_graph", lambda path: path.read_text())
    monkeypatch.setattr("asterism.memo.graphs.keras_build.build", build)
    monkeypatch.setattr(
        "asterism.models.keras_models.reading.save_keras",
        lambda model, path: path.write_text(model),
    )
    folders = []
    for name in ("one", "bad", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.json").write_text(name)
        folders.append(tmp_path / name)
    target = tmp_path / "made"
    target.mkdir()
    keras_files.main(tmp_path / "w.npz", target, folders)
    assert asked == ["numpy"]
    assert built == [(name, "weights of w.npz") for name in ("one", "bad", "two")]
    assert cleared == [0, 1, 2]
    written = {path.name: path.read_text() for path in target.iterdir()}
    assert written == {"one.keras": "model of one", "two.keras": "model of two"}


# ---- workers


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
    monkeypatch.setattr("asterism.libraries.running.worker_pool.CONVERTERS", kinds)
    assert (_worker_of("mine"), _worker_of("other")) == ("mine", "pytorch")


def test_a_conversion_is_asked_of_its_worker(tmp_path):
    asked = []
    answer = {"stage": "convert", "status": "error", "exception": "E", "message": "m", "frame": "f"}
    client = SimpleNamespace(
        ask=lambda request, seconds: (asked.append((request, seconds)), answer)[1]
    )
    pool = SimpleNamespace(
        _clients={"tf2onnx": client}, _request=lambda task, folder: {"folder": str(folder)}
    )
    task = Task(4, GRAPH, {}, seconds=2.5)
    found = WorkerPool._convert(pool, task, tmp_path, "tf2onnx")
    request = {"folder": str(tmp_path), "step": "convert", "backend": "tf2onnx"}
    assert asked == [(request, 2.5)]
    assert (found.model, found.backend, found.stage, found.status) == (
        *(4, "tf2onnx", "convert", "error"),
    )
    assert (found.exception, found.message, found.frame) == ("E", "m", "f")


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

    def run(self, compiled, inputs):
        self.dtypes += [str(array.dtype) for array in inputs]
        return [2 * array for array in inputs]


@pytest.fixture
def request_of(tmp_path):
    values = {"normal/0": np.float32([1, 2]), "normal/1": np.int32([3]), "wide/0": np.float32([9])}
    np.savez(tmp_path / "inputs.npz", **values)
    facts = {"folder": str(tmp_path), "weights": None, "outputs": None, "opset": 15, "batch": 2}
    facts |= {"step": "run", "backend": "b", "option": "o", "distributions": ["normal"]}
    return lambda **more: facts | {"dtype": None, "target": "out.npz"} | more


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


class Usable:
    """A worker pool in which some backends can be used."""

    def __init__(self, *backends):
        self._backends = backends

    def usable(self):
        return self._backends


@pytest.mark.parametrize(
    ("found", "usable", "expected"),
    [
        (
            finding("converter crash", "tf2onnx", backends=("tf2onnx",)),
            ("jax:jit", "openvino:keras_onnx", "openvino:tf2onnx", "onnxruntime:tf2onnx"),
            ("openvino:tf2onnx",),
        ),
        (
            finding(
                "runtime crash",
                "jax",
                agreeing=(
                    "tensorflow:xla",
                    "tensorflow:eager",
                    "pytorch:eager",
                    "openvino:tf2onnx",
                ),
            ),
            ("jax:jit", "tensorflow:xla", "tensorflow:eager", "pytorch:eager", "openvino:tf2onnx"),
            ("jax:jit", "pytorch:eager", "tensorflow:eager"),
        ),
        (
            finding(
                "runtime crash",
                "tf2onnx",
                backends=("openvino:tf2onnx",),
                agreeing=("openvino:keras_onnx", "onnxruntime:tf2onnx", "tensorflow:eager"),
            ),
            ("openvino:tf2onnx", "openvino:keras_onnx", "onnxruntime:tf2onnx", "tensorflow:eager"),
            ("openvino:tf2onnx", "openvino:keras_onnx", "onnxruntime:tf2onnx", "tensorflow:eager"),
        ),
    ],
)
def test_a_finding_is_asked_of_who_shows_it_and_of_those_that_tell_whom_to_blame(
    found, usable, expected
):
    assert Reproduction(Usable(*usable), JUDGE, 0, 10)._backends(found) == expected


def test_layers_alone_read_inputs_in_the_place_of_what_is_left_out():
    dense = {"units": 2, "dtype": "float32"}
    graph = Graph(
        {
            0: input_node((3,), "int32"),
            1: Node("Embedding", {"input_dim": 5, "output_dim": 2, "dtype": "float32"}, (0,)),
            2: input_node((3, 2)),
            3: Node("Add", {"dtype": "float32"}, (1, 2)),
            4: Node("Dense", dense, (3,)),
        }
    )
    alone = isolated(graph, {1})
    assert [node.type for node in alone.nodes.values()].count("Embedding") == 1
    (source,) = (i for i in alone.nodes if alone.nodes[i].type == INPUT)
    assert alone.nodes[source] == graph.nodes[0]
    assert alone.nodes[1].inputs == (source,)
    both = isolated(graph, {3, 4})
    inputs = [i for i in both.nodes if both.nodes[i].type == INPUT]
    assert both.nodes[3].inputs == tuple(inputs)
    assert [both.tensors[i].shape for i in inputs] == [(3, 2), (3, 2)]
    assert both.nodes[4].inputs == (3,)
    assert list(both.layers) == [3, 4]


@pytest.mark.parametrize("more", [None, {"MINE": "1", "KERAS_BACKEND": "mine"}])
def test_a_workers_environment_is_the_librarys_and_what_is_given(monkeypatch, more):
    made = []
    monkeypatch.setattr(
        worker_client, "WorkerProcess", lambda *facts: (made.append(facts), Process({}))[1]
    )
    client = WorkerClient("jax", Limits(5, 600), more)
    ((serve, words, environment, forks),) = made
    assert (serve, words, forks) == (worker_client.serve, ["jax"], None)
    assert environment == {**variables("jax"), **(more or {})}
    assert environment["KERAS_BACKEND"] == ("mine" if more else "jax")
    client._worker.start()
    client.stop()
    assert client._worker.events == ["start", "stop"]


def test_a_failure_is_told_with_what_the_backend_said():
    end = ExecutionOutcome(2, "jax:jit", "compile", "error", "odd.Error", "it broke", "lib/a.py:f")
    again = replace(end, backend="jax:eager")
    other = replace(end, backend="pytorch:eager", frame="lib/b.py:g")
    fine = {r: ExecutionOutcome(2, r, "run", "ok") for r in ("tensorflow:eager", *FLOAT64)}
    outcomes = {o.backend: o for o in (end, again, other)} | fine
    found = judge(GRAPH, Result(2, ("normal",), outcomes), JUDGE, 0).findings
    assert [(f.library, f.backends, f.frame) for f in found] == [
        ("jax", ("jax:jit", "jax:eager"), "lib/a.py:f"),
        ("pytorch", ("pytorch:eager",), "lib/b.py:g"),
    ]
    first = found[0]
    assert (first.model, first.symptom, first.stage) == (2, "runtime crash", "compile")
    assert (first.exception, first.message) == ("odd.Error", "it broke")
    assert first.distributions == ("normal",)
    assert set(first.agreeing) >= {"tensorflow:eager"}
