"""How runs, sweeps and their processes are told to end, and what stages are started with."""

import os
import signal
import subprocess
import sys
from contextlib import nullcontext

import pytest
from small_pipeline import Project, call, start

from asterism.core.files.locks import hold_lock
from asterism.sweep.executors import Shards
from asterism.sweep.interrupt import postpone_sigint
from asterism.sweep.launch import _ignore_interrupts
from asterism.sweep.pipeline import use_this_python
from asterism.sweep.worker import Sweep, SweepRequest
from marked import Marked

TERMINATED = """
import os, signal, subprocess, sys, time
from asterism.sweep.interrupt import treat_sigterm_as_sigint

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
    with treat_sigterm_as_sigint():
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
    sweep = Sweep("s", tmp_path, "HEAD", tmp_path / "cache", SweepRequest(), Shards(), tied=tied)
    sweep.folder.mkdir(parents=True)
    if stopped:
        sweep.stop.touch()
    with hold_lock(sweep.lock) if alive else nullcontext():
        assert sweep.is_over() is (stopped or (tied and not alive))


@pytest.fixture
def marked():
    return Marked()


@pytest.fixture
def project(tmp_path, marked):
    """Its stage ``right`` waits; all processes of its commands are marked."""
    project = Project(tmp_path)
    project.environment = marked.environment | project.environment
    (project.notes / "hold-right").touch()
    return project


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_sigterm_ends_the_stages_too(project, marked, jobs):
    process = start(project, "repro", "--jobs", jobs)
    project.wait_for("right")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=40)
    assert process.returncode == 130, output
    assert output.splitlines()[-1] == "error: interrupted; the same command resumes it"
    assert "src/asterism" not in output  # the stage, which is a plain script, has a traceback
    assert marked.running() == []
    (project.notes / "hold-right").unlink()
    project.ran()
    status, output = call(project, "repro", "--jobs", jobs)
    assert status == 0, output
    assert set(project.ran()) >= {"right", "end"}


@pytest.mark.slow
def test_stages_end_with_a_run_that_is_killed(project, marked):
    process = start(project, "repro", "--jobs", 2)
    project.wait_for("right")
    process.kill()
    assert marked.left(40) == []
    (project.notes / "hold-right").unlink()
    status, output = call(project, "repro", "--jobs", 2)
    assert status == 0, output


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib", "basic", "submitit_local"])
def test_points_end_with_a_sweep_that_is_killed(project, marked, launcher):
    """Those that run, and those that its launcher has handed to a process already."""
    sweep = ["sweep", "--name", "s", "fuzz.mutants=5,6,7", f"hydra/launcher={launcher}"]
    process = start(project, *sweep, *["hydra.launcher.n_jobs=2"][: launcher == "joblib"])
    project.wait_for("right", 1 if launcher == "basic" else 2)
    process.kill()
    assert marked.left(40) == []
    assert {record["status"] for record in project.records("s")} <= {"interrupted"}
    (project.notes / "hold-right").unlink()
    project.ran()
    status, output = call(project, *sweep)
    assert status == 0, output
    assert project.ran() == ["end"] * 3 + ["right"] * 3


def test_what_is_half_written_is_finished_before_an_interrupt(tmp_path):
    file, before = tmp_path / "rwlock", signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), postpone_sigint() as raise_noted:
        raise_noted()
        file.write_text("{")
        os.kill(os.getpid(), signal.SIGINT)
        file.write_text("{}")
    assert file.read_text() == "{}"
    with pytest.raises(KeyboardInterrupt), postpone_sigint() as raise_noted:
        os.kill(os.getpid(), signal.SIGINT)
        raise_noted()
        file.unlink()
    assert file.exists()
    assert signal.getsignal(signal.SIGINT) is before
