"""Processes that end with the one that started them."""

import itertools
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from asterism.core.workers import processes
from asterism.core.workers.processes import (
    Countdown,
    adopt_orphans,
    kill_descendants,
    run_alone,
    start_in_lasting_thread,
)
from marked import Marked, wait_until
from places import ROOT

CHILD = """
import pathlib, signal, subprocess
from asterism.core.workers.processes import interrupt_group_with_parent

interrupt_group_with_parent()
sleeper = subprocess.Popen(["sleep", "1000"])
pathlib.Path("started").touch()
try:
    sleeper.wait()
except KeyboardInterrupt:
    pathlib.Path("interrupted").touch()
"""

PARENT = """
import subprocess, sys

subprocess.run([sys.executable, "-c", sys.argv[1]], start_new_session=True)
"""


def lives(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_group_is_told_when_the_parent_of_its_leader_is_killed(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", PARENT, CHILD]
    parent = subprocess.Popen(command, cwd=tmp_path, env=environment)
    wait_until((tmp_path / "started").exists)
    below = psutil.Process(parent.pid).children(recursive=True)
    assert len(below) == 2 and not (tmp_path / "interrupted").exists()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    try:
        wait_until(lambda: not any(map(lives, below)))
    finally:
        for process in filter(lives, below):
            process.kill()
    assert (tmp_path / "interrupted").exists()


#: What holds the interpreter's lock for long, and what lets go of it.
HELD = [
    "import ctypes; ctypes.PyDLL(None).sleep(1000)",
    "import ctypes; ctypes.CDLL(None).sleep(1000)",
]

STARTS = """
import pathlib, subprocess, sys, threading, time
from asterism.core.workers.processes import run_alone, start_in_lasting_thread

held = sys.argv[2]
child = "from asterism.core.workers.processes import die_with_parent\\ndie_with_parent()\\n"
child += held

def start():
    if sys.argv[1] == "own":
        start_in_lasting_thread(lambda: subprocess.Popen([sys.executable, "-c", child]))
    else:
        threading.Thread(target=run_alone, args=([sys.executable, "-c", held], 1000)).start()

thread = threading.Thread(target=start)  # which ends long before this process
thread.start()
thread.join()
time.sleep(1)
pathlib.Path("began").touch()
time.sleep(1000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread keeps watch")
def test_a_child_that_holds_the_lock_ends_with_its_parent_and_not_before(tmp_path):
    started = []
    for place, (kind, held) in enumerate(itertools.product(["own", "any"], HELD)):
        marked, folder = Marked(), tmp_path / str(place)
        folder.mkdir()
        environment = marked.environment | {"PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-c", STARTS, kind, held]
        parent = subprocess.Popen(command, cwd=folder, env=environment)
        started.append((parent, marked, folder / "began"))
    try:
        for _, _, began in started:
            wait_until(began.exists)
        time.sleep(1)
        for parent, marked, _ in started:
            below = [p for p in marked.running() if p.pid != parent.pid]
            assert len(below) == 1, f"{parent.args}: it outlives the thread that asked for it"
            parent.kill()
            parent.wait()
            assert marked.left() == [], parent.args
    finally:
        for parent, marked, _ in started:
            parent.kill()
            marked.left(seconds=0)


def test_what_a_command_leaves_running_is_killed_with_its_group(tmp_path):
    marked = Marked()
    leaves = "import subprocess; subprocess.Popen(['sleep', '1000']); raise SystemExit(3)"
    assert run_alone([sys.executable, "-c", leaves], 60, env=marked.environment) == 3
    hangs = "import subprocess; subprocess.run(['sleep', '1000'])"
    assert run_alone([sys.executable, "-c", hangs], 2, env=marked.environment) is None
    assert marked.left() == []


def test_a_fork_starts_processes_of_its_own():
    assert start_in_lasting_thread(lambda: 1) == 1
    if (child := os.fork()) == 0:
        os._exit(start_in_lasting_thread(lambda: 7))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_time_in_which_this_process_is_stopped_does_not_count(monkeypatch):
    """A stop is a jump of the clock between two looks, of which two seconds count."""
    now = [0.0]
    monkeypatch.setattr(processes.time, "monotonic", lambda: now[0])
    countdown = Countdown(4.0)
    for seconds, over in ((1.0, False), (3600.0, False), (0.9, False), (0.2, True)):
        now[0] += seconds
        assert countdown.is_over() is over


def test_a_process_that_watches_its_parent_ends_by_itself():
    program = (
        "from asterism.core.workers.processes import interrupt_group_with_parent as watch; watch()"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert done.returncode == 0


def test_where_the_system_does_not_mind_parents_a_thread_does(monkeypatch):
    watched, killed = [], []
    monkeypatch.setattr(processes, "_watch", lambda parent, end: watched.append((parent, end)))
    monkeypatch.setattr(processes.os, "kill", lambda *what: killed.append(what))
    monkeypatch.setattr(processes.sys, "platform", "darwin")
    processes.die_with_parent()
    processes.die_with_parent(17)
    assert [parent for parent, _ in watched] == [os.getppid(), 17]
    assert killed == []
    watched[0][1]()
    assert killed == [(os.getpid(), signal.SIGKILL)]


def in_a_fork(work):
    """What is true in a process of its own, which has no children but its own."""
    if (child := os.fork()) == 0:
        status = 2
        try:
            status = 0 if work() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere orphans are not adopted")
def test_all_that_was_started_below_ends_also_where_its_parents_have_ended():
    sleeps = "sleep 1000 > /dev/null & echo $!; setsid sleep 1000 > /dev/null & echo $!"

    def work():
        adopt_orphans()
        started = subprocess.check_output(["sh", "-c", sleeps], text=True).split()
        orphans = [psutil.Process(int(number)) for number in started]
        assert [orphan.ppid() for orphan in orphans] == [os.getpid()] * 2
        assert processes._has_children()
        kill_descendants()
        return not processes._has_children() and not any(map(lives, orphans))

    assert in_a_fork(work)
    assert in_a_fork(lambda: not processes._has_children())


def test_what_does_not_end_is_waited_for_only_so_long(monkeypatch):
    class Alone:
        def children(self, recursive):
            return []

    now, looked = [0.0], []
    monkeypatch.setattr(psutil, "Process", Alone)
    monkeypatch.setattr(processes, "_has_children", lambda: True)
    clock = SimpleNamespace(
        monotonic=lambda: now[0], sleep=lambda _: looked.append(now.append(now.pop() + 1.0))
    )
    monkeypatch.setattr(processes, "time", clock)
    kill_descendants()
    assert len(looked) == processes._REAP_SECONDS
