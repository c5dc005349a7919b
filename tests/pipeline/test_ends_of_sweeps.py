"""How sweeps and their processes are told to end, and what their stages are started with."""

import os
import signal
import subprocess
import sys
from contextlib import nullcontext

import pytest

from asterism.core.files.locks import held
from asterism.sweep.executors import Shards
from asterism.sweep.launch import _ignore_interrupts
from asterism.sweep.pipeline import use_this_python
from asterism.sweep.worker import Sweep

TERMINATED = """
import os, signal, subprocess, sys, time
from asterism.sweep.interrupt import terminated_as_by_ctrl_c

def terminate():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)

def terminate_and_fail():
    try:
        terminate()
    finally:
        raise OSError("the disk is full")

def fail():
    raise OSError("the disk is full")

before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
try:
    with terminated_as_by_ctrl_c():
        stage = subprocess.Popen(["sleep", "30"])
        {work}
except BaseException as error:
    print(type(error).__name__)
else:
    stage.kill()
    print("nothing")
stage.wait() if "terminate" in "{work}" else stage.kill()
print(stage.wait())
print((signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before)
"""


@pytest.mark.parametrize(
    ("work", "raised", "stage"),
    [
        ("terminate()", "KeyboardInterrupt", -signal.SIGINT),
        ("terminate_and_fail()", "KeyboardInterrupt", -signal.SIGINT),
        ("fail()", "OSError", -signal.SIGKILL),
        ("pass", "nothing", -signal.SIGKILL),
    ],
)
def test_sigterm_interrupts_this_process_and_its_stages_and_nothing_else_does(work, raised, stage):
    """Also where a shell has started the process so that it ignores SIGINT."""
    done = subprocess.run(
        [sys.executable, "-c", TERMINATED.format(work=work)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=300,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert done.stdout.split() == [raised, str(int(stage)), "True"]


def test_processes_that_launch_groups_of_points_leave_an_interrupt_to_the_sweep():
    before, interrupted = signal.signal(signal.SIGINT, signal.default_int_handler), False
    try:
        _ignore_interrupts()
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        signal.signal(signal.SIGINT, before)
    assert not interrupted


@pytest.mark.parametrize("path", ["/usr/bin:/bin", None])
def test_stages_run_in_the_interpreter_of_the_command(path, monkeypatch):
    monkeypatch.delenv("PATH")
    if path is not None:
        monkeypatch.setenv("PATH", path)
    use_this_python()
    asked = ["sh", "-c", "python -c 'import sys; print(sys.prefix)'"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == (
        sys.prefix
    )


@pytest.mark.parametrize("stopped", [True, False])
@pytest.mark.parametrize("alive", [True, False])
@pytest.mark.parametrize("tied", [True, False])
def test_points_stop_where_they_are_told_to_or_the_process_that_they_are_tied_to_is_gone(
    tmp_path, tied, alive, stopped
):
    sweep = Sweep("s", tmp_path, "HEAD", tmp_path / "cache", (), 1, Shards(), tied=tied)
    sweep.folder.mkdir(parents=True)
    if stopped:
        sweep.stop.touch()
    with held(sweep.lock) if alive else nullcontext():
        assert sweep.is_over() is (stopped or (tied and not alive))
