"""How worker processes start, end and start again; and what Keras finds in them."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor

import numpy as np
import psutil
import pytest

from asterism.core.files.artifacts import write_json
from asterism.core.workers.starting import KilledError, LaunchError
from asterism.core.workers.worker import WorkerLimits
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker import Worker
from asterism.differential.engine.worker_environment import start_keras_fork_server
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.engine.workers import WorkerClient
from asterism.memo.graphs.keras_build import build_model
from asterism.models.keras_models.reading import load_keras
from extras import needs
from libraries import small_library
from libraries.small_results import chained
from libraries.small_runs import python, request, worker_environment, working
from marked import Marked, wait_until
from memo.small_graphs import layer
from thinning import every

pytestmark = needs("keras")
ENVIRONMENT = worker_environment(small_library.__name__)
LIMITS = WorkerLimits(60.0, 2000)


@pytest.fixture
def server():
    made = start_keras_fork_server("numpy", ENVIRONMENT)
    yield made
    made.stop()


@pytest.fixture
def folder(tmp_path):
    graph = chained((3,), layer("ReLU"))
    write_json(tmp_path / "graph.json", graph.to_json())
    np.savez(tmp_path / "inputs.npz", **{"normal/0": np.ones((2, 3), np.float32)})
    return tmp_path


@pytest.mark.parametrize("zeros", [False, True])
def test_a_library_says_how_its_backend_builds_models(folder, monkeypatch, zeros):
    asked = []
    monkeypatch.setattr(ModelUnderTest, "keras", lambda self, **given: asked.append(given))
    monkeypatch.setattr(small_library.Small, "zero_initializers", zeros)
    answer = Worker(small_library.Small()).answer(request(folder, option="none"))
    assert (answer["status"], asked) == ("ok", [{"dtype": None, "zero_initializers": zeros}])


def test_a_worker_pool_forks_the_workers_that_can_be_forked_and_they_come_back_after_a_crash(
    folder,
):
    with working(("small:none", "lone:none"), environment=ENVIRONMENT) as worker_pool:
        here = psutil.Process()
        (server,) = (s.pid for s in worker_pool._fork_servers.values())
        lone, small = (worker_pool._clients[name] for name in ("lone", "small"))
        pids = lone.pid, small.pid
        assert [psutil.Process(pid).ppid() for pid in pids] == [os.getpid(), server]
        crash = small.ask(request(folder, option="talk"))
        assert (crash["status"], crash["exception"]) == ("crash", "SIGABRT")
        assert "line 7: word" in crash["message"] and "line 1: word" not in crash["message"]
        assert not psutil.pid_exists(pids[1]), "no zombie is left"
        assert small.ask(request(folder, option="none"))["status"] == "ok"
        assert small.pid != pids[1] and lone.pid == pids[0]
        assert psutil.Process(small.pid).ppid() == server
    assert not any(child.pid == server for child in here.children())


def test_a_model_that_keras_takes_is_saved_as_a_file_of_its_own(tmp_path):
    nested = {"layer": "LSTM", "units": 2, "activation": "relu"}
    graph = chained((5, 3), layer("Bidirectional", **nested), layer("Dense", units=2))
    rejected = chained((6,), layer("Dense", units=2, activation="no such function"))
    with WorkerPool(("small:none",), LIMITS, environment=ENVIRONMENT) as pool:
        first, nothing, again = map(pool.saved, (graph, rejected, graph))
    assert (first, nothing) == (again, None)
    (tmp_path / "model.keras").write_bytes(first)
    batch = np.ones((2, 5, 3), np.float32)
    expected = np.asarray(build_model(graph)(batch, training=False))
    model = load_keras(tmp_path / "model.keras")
    np.testing.assert_array_equal(np.asarray(model(batch, training=False)), expected)


def test_a_worker_pool_that_closes_waits_for_its_threads_before_it_ends_their_workers(
    tmp_path, monkeypatch
):
    """A thread that still waited for an answer would read from what is closed, or be another's."""
    monkeypatch.setattr("asterism.core.workers.worker._LOOK_MS", 500)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    alive, stop = [], WorkerClient.stop

    def noting(handle):
        alive.extend(t.name for t in threading.enumerate() if t.name.startswith("worker-"))
        stop(handle)

    with WorkerPool(("small:none", "small:hang"), LIMITS, environment=ENVIRONMENT) as worker_pool:
        inputs = {"normal": [np.ones((2, 3), np.float32)]}
        task = Task(0, chained((3,), layer("ReLU")), inputs, backends=("small:hang",))
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(worker_pool.run, task)
            wait_until(lambda: list(tmp_path.rglob("*.hangs")))
            monkeypatch.setattr(WorkerClient, "stop", noting)
            worker_pool.close()
            with pytest.raises(CancelledError):
                asked.result(60)
    assert alive == [] and not list(tmp_path.glob("asterism-*"))


RUN = """
import sys
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.core.workers.worker import WorkerLimits
from memo.small_graphs import branching

with WorkerPool(sys.argv[1:], WorkerLimits(1000.0, 2000)) as worker_pool:
    worker_pool.run(Task(0, branching(), {}))
"""


def started(tmp_path, backends, marks, more=()):
    """A process with a worker pool whose workers hang, when all of them do; and its mark."""
    marked, path = Marked(), os.pathsep.join([*map(str, more), ENVIRONMENT["PYTHONPATH"]])
    variables = {**marked.environment, **ENVIRONMENT, "PYTHONPATH": path, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", RUN, *backends], env=variables)
    wait_until(lambda: sum(1 for _ in tmp_path.rglob("*.hangs")) == marks)
    return process, marked


@pytest.mark.parametrize(
    ("number", "doing"),
    every(3, [(signal.SIGKILL, "hang"), (signal.SIGINT, "hang"), (signal.SIGKILL, "hold")]),
)
def test_workers_end_with_their_parent_whatever_they_are_at(tmp_path, number, doing):
    process, marked = started(tmp_path, (f"small:{doing}", f"lone:{doing}"), marks=2)
    assert len(marked.running()) == 4, "with a fork server, its fork, and one started anew"
    process.send_signal(number)
    assert marked.left() == []
    assert process.wait() == -number
    left = list(tmp_path.glob("asterism-*"))
    assert number == signal.SIGKILL or not left, "what they wrote is removed"


@pytest.mark.parametrize("library", ["small", "lone"])
def test_no_worker_is_started_while_closing(folder, library):
    """One that crashed just now would be started anew, and its import waited for."""
    handle = WorkerClient(library, LIMITS, ENVIRONMENT)
    handle.give_up()
    with pytest.raises(CancelledError):
        handle.ask(request(folder, option="none"))
    assert handle.pid is None


@pytest.mark.parametrize("library", ["small", pytest.param("lone", marks=pytest.mark.slow)])
def test_a_worker_that_hangs_while_it_ends_is_killed(server, folder, monkeypatch, library):
    monkeypatch.setattr("asterism.core.workers.worker._END_SECONDS", 1.0)
    handle = WorkerClient(library, LIMITS, ENVIRONMENT, server if library == "small" else None)
    try:
        answer = handle.ask(request(folder, option="shut"))
        assert (answer["status"], answer["exception"]) == ("crash", "SIGKILL")
        assert handle.ask(request(folder, option="none"))["status"] == "ok"
    finally:
        handle.stop()


@pytest.mark.parametrize(
    ("option", "kills", "expected"),
    [
        ("once", 1, {"status": "ok"}),
        pytest.param(
            *("hang", 2, {"status": "crash", "exception": "SIGKILL"}), marks=pytest.mark.slow
        ),
    ],
)
def test_a_worker_that_is_killed_from_outside_is_asked_once_more(
    server, folder, option, kills, expected
):
    """As a system short of memory does: that is no answer of the library's, but for the second."""
    handle = WorkerClient("small", LIMITS, ENVIRONMENT, server)
    with ThreadPoolExecutor(1) as pool:
        try:
            asked = pool.submit(handle.ask, request(folder, option=option))
            for _ in range(kills):
                (mark,) = wait_until(lambda: list(folder.glob("*.hangs")))
                if option == "hang":
                    mark.unlink()
                os.kill(handle.pid, signal.SIGKILL)
            assert expected.items() <= asked.result(60).items()
        finally:
            handle.stop()


@pytest.mark.parametrize(("error", "times"), [(KilledError, 2), (LaunchError, 1)])
def test_an_import_that_is_killed_from_outside_begins_once_more(error, times):
    """Otherwise its library would be left out of the whole run."""
    tried = []

    class Forks:
        def fork(self, *given):
            tried.append(given)
            raise error("no process")

    handle = WorkerClient("small", LIMITS, ENVIRONMENT, Forks())
    assert not handle.start() and len(tried) == times
    assert handle.broken == "no process"
    assert handle.ask({"step": "run"})["status"] == "blocked" and len(tried) == times


def test_an_interrupt_waits_for_no_import(tmp_path):
    fake = tmp_path / "modules/keras.py"
    fake.parent.mkdir()
    fake.write_text(
        "import time, pathlib\npathlib.Path(__file__ + '.hangs').touch()\ntime.sleep(1000)\n"
    )
    process, marked = started(tmp_path, ("small:none",), 1, more=[fake.parent])
    assert len(marked.running()) == 2
    process.send_signal(signal.SIGINT)
    assert marked.left() == []
    assert process.wait() == -signal.SIGINT


def test_keras_finds_no_backend_but_its_own():
    script = (
        "import importlib.util as u, importlib.metadata as m, sys\n"
        "from asterism.memo.graphs.light_keras import import_keras\n"
        "keras = import_keras('numpy')\n"
        "keras.utils.set_random_seed(1)\n"  # looks for TensorFlow and PyTorch
        "assert keras.backend.backend() == 'numpy'\n"
        "for name in ('tensorflow', 'torch', 'sklearn', 'matplotlib'):\n"
        "    assert u.find_spec(name) is None and name not in sys.modules, name\n"
        "assert m.version('torch')\n"
        "try: import_keras('jax')\n"
        "except RuntimeError: sys.exit(7)\n"
    )
    done = python("-c", script)
    assert done.returncode == 7, done.stderr
