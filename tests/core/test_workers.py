"""Worker processes: requests, limits, deaths, forks; whatever a worker does, its parent goes on."""

import gc
import os
import signal
import threading
import time
import warnings
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress

import psutil
import pytest

from asterism.core.workers import starting
from asterism.core.workers.starting import ForkServer, KilledError, LaunchError
from asterism.core.workers.worker import WorkerDied, WorkerLimits, WorkerProcess
from core.worker_jobs import obey, prepare, prepare_forever, prepare_in_vain, prepare_with_a_thread
from marked import wait_until
from places import ROOT

ENVIRONMENT = {"PYTHONPATH": str(ROOT / "tests")}
PATIENT = WorkerLimits(60.0)
LARGE = bytes(range(256)) * 20_000


@pytest.fixture
def worker():
    made = WorkerProcess(obey, environment=ENVIRONMENT)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def forking():
    """Makes a process that prepares and forks workers, and two of these; they end with the test."""
    made = []

    def make(prepares, *arguments):
        server = ForkServer("prepares", prepares, arguments, ENVIRONMENT)
        workers = [WorkerProcess(obey, forks=server) for _ in range(2)]
        made.extend([*workers, server])
        return server, *workers

    yield make
    for process in made:
        process.stop()


def ask(worker, request, limits=PATIENT):
    worker.send(request, limits=limits)
    return bytes(worker.receive(limits))


def death_of(worker, request, limits=PATIENT):
    pid = worker.pid
    with pytest.raises(WorkerDied) as died:
        ask(worker, request, limits)
    assert worker.pid is None
    assert not psutil.pid_exists(pid), "no zombie is left"
    return died.value


def test_messages_of_any_size_come_back(worker):
    for message in (b"", b"x", b"y" * (1 << 16), LARGE):
        assert ask(worker, message) == message
    worker.send(b"one", LARGE, b"", limits=PATIENT)
    assert bytes(worker.receive(PATIENT)) == b"one"
    assert bytes(worker.receive_more()) == LARGE
    assert bytes(worker.receive_more()) == b""


@pytest.mark.parametrize(
    ("request_", "ended"),
    [(b"abort", "SIGABRT"), (b"exit:3", "exit status 3"), (b"half and die", "SIGSEGV")],
)
def test_a_crash_is_told_and_another_process_can_be_started(worker, request_, ended):
    death = death_of(worker, request_)
    assert (death.how, death.ended, death.killed) == ("crash", ended, False)
    assert death.said[-1:] == (["the last words"] if request_ == b"abort" else [])
    worker.start()
    assert ask(worker, b"here") == b"here"
    assert death_of(worker, b"exit:4").said == [], "what another process has said is forgotten"


@pytest.mark.parametrize("request_", [b"hang", b"half"])
def test_a_worker_that_hangs_is_ended_even_in_the_middle_of_an_answer(worker, request_):
    assert death_of(worker, request_, WorkerLimits(1.0)).how == "hang"


def test_a_worker_that_reads_nothing_more_is_ended(worker):
    assert ask(worker, b"deaf") == b"deaf"
    with pytest.raises(WorkerDied, match="hang"):
        worker.send(LARGE * 2, limits=WorkerLimits(1.0))
    assert worker.pid is None


def test_a_worker_that_is_stopped_is_ended(worker):
    os.kill(worker.pid, signal.SIGSTOP)
    assert death_of(worker, b"x", WorkerLimits(1.0)).how == "hang"


def test_a_worker_that_takes_too_much_memory_is_ended(worker):
    assert death_of(worker, b"grow:300", WorkerLimits(60.0, memory_mb=100)).how == "memory"
    worker.start()
    with pytest.raises(WorkerDied, match="hang"):
        ask(worker, b"grow:30", WorkerLimits(3.0, memory_mb=100))


def test_somebody_elses_kill_is_told_apart(worker):
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(death_of, worker, b"hang")
        time.sleep(0.5)
        os.kill(worker.pid, signal.SIGKILL)
        death = asked.result(60)
    assert (death.how, death.ended, death.killed) == ("crash", "SIGKILL", True)


def test_another_thread_can_be_let_go(worker):
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, worker, b"hang")
        time.sleep(0.3)
        worker.give_up()
        with pytest.raises(CancelledError):
            asked.result(60)
    assert worker.pid is not None, "to stop it is left to do"


def test_a_worker_ends_by_itself_when_its_parent_closes_the_channel(tmp_path):
    worker = WorkerProcess(obey, [str(tmp_path / "ended")], ENVIRONMENT)
    worker.start()
    assert ask(worker, b"x") == b"x"
    worker._channel.close()
    assert worker._process.wait() == 0
    assert (tmp_path / "ended").exists()


def test_standard_output_is_kept(capfd):
    worker = WorkerProcess(obey, (), ENVIRONMENT)
    worker.start()
    assert ask(worker, b"talk") == b"talk"
    assert death_of(worker, b"exit:1").said == ["to standard output"]
    assert capfd.readouterr().out == ""


def test_forks_come_from_one_process_that_prepares_once(forking, tmp_path):
    server, *workers = forking(prepare, str(tmp_path / "mark"))
    for worker in workers:
        worker.start()
        assert ask(worker, LARGE) == LARGE
        assert psutil.Process(worker.pid).ppid() == server.pid
    assert (tmp_path / "mark").exists()
    death = death_of(workers[0], b"abort")
    assert (death.how, death.ended, death.said[-1]) == ("crash", "SIGABRT", "the last words")
    assert ask(workers[1], b"still here") == b"still here"
    workers[1].stop()
    server.stop()
    assert server.pid is None


@pytest.mark.parametrize(
    ("broken", "why"), [(prepare_with_a_thread, "starts threads"), (prepare_in_vain, "installed")]
)
def test_what_starts_threads_or_fails_is_never_forked(forking, broken, why):
    _, worker, _ = forking(broken)
    with pytest.raises(LaunchError, match=why):
        worker.start()


def test_workers_survive_the_thread_that_started_them():
    worker = WorkerProcess(obey, environment=ENVIRONMENT)
    thread = threading.Thread(target=worker.start)
    thread.start()
    thread.join()
    time.sleep(0.3)
    assert ask(worker, b"x") == b"x"
    worker.stop()


def test_a_fork_can_be_ended_the_moment_it_is_there(forking, tmp_path):
    """It leads its own process group from the first, so that no signal misses it."""
    _, worker, _ = forking(prepare, str(tmp_path / "mark"))
    for _ in range(100):
        worker.start()
        pid = worker.pid
        assert os.getpgid(pid) == pid
        worker.stop()
        assert not psutil.pid_exists(pid)


@pytest.mark.parametrize(
    ("sent", "given_up", "kind"),
    [
        (signal.SIGKILL, False, KilledError),
        (signal.SIGTERM, False, LaunchError),
        (signal.SIGKILL, True, LaunchError),
    ],
)
def test_a_process_that_forks_workers_and_dies_is_told_and_started_again(
    forking, tmp_path, sent, given_up, kind
):
    server, worker, _ = forking(prepare, str(tmp_path / "mark"))
    worker.start()
    worker.stop()
    (first := psutil.Process(server.pid)).send_signal(sent)
    if given_up:
        server.give_up()
    with pytest.raises(LaunchError, match="prepares has died") as error:
        worker.start()
    assert type(error.value) is kind
    assert server.pid is None and not psutil.pid_exists(first.pid)
    if given_up:
        with pytest.raises(LaunchError, match="no process"):
            worker.start()
    else:
        worker.start()
        assert ask(worker, b"here") == b"here"


@pytest.mark.parametrize("given_up", [False, True])
def test_imports_that_take_too_long_or_are_no_longer_wanted_end(forking, monkeypatch, given_up):
    monkeypatch.setattr(starting, "START_SECONDS", 1000.0 if given_up else 0.1)
    server, worker, _ = forking(prepare_forever)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(worker.start)
        if given_up:
            wait_until(lambda: server.pid is not None)
            server.give_up()
        with pytest.raises(LaunchError, match="has died or hangs") as error:
            asked.result(60)
    assert type(error.value) is LaunchError
    assert server.pid is None


def test_a_worker_that_cannot_be_started_leaves_no_socket_open():
    class Broken:
        def fork(self, *_):
            raise LaunchError("no process left")

    worker = WorkerProcess(obey, forks=Broken())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with suppress(LaunchError):
            worker.start()
        gc.collect()
    assert worker.pid is None
    assert [warning for warning in told if "socket" in str(warning.message)] == []
