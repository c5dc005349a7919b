"""SIGTERM to a run, as a batch system or a service manager sends it: to one process."""

import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from small_pipeline import Project, call, start

from asterism.sweep.interrupt import interrupt_postponed


def still_running(project):
    """Commands of processes that work in the project's folder, or in a workspace below it."""
    found = []
    for process in psutil.process_iter(["cwd", "cmdline", "status"]):
        info = process.info
        inside = info["cwd"] is not None and Path(info["cwd"]).is_relative_to(project.root)
        if inside and info["status"] != psutil.STATUS_ZOMBIE:
            found.append(info["cmdline"])
    return found


def wait_until_nothing_runs(project):
    begun = time.monotonic()
    while still_running(project):
        assert time.monotonic() - begun < 40, still_running(project)
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_sigterm_ends_the_stages_too(tmp_path, jobs):
    project = Project(tmp_path)
    (project.notes / "hold-right").touch()
    process = start(project, "repro", "--jobs", jobs)
    project.wait_for("right")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=40)
    assert process.returncode == 130, output
    assert output.splitlines()[-1] == "error: interrupted; the same command goes on"
    assert "src/asterism" not in output  # the stage, which is a plain script, has a traceback
    assert not still_running(project)
    (project.notes / "hold-right").unlink()
    project.ran()
    status, output = call(project, "repro", "--jobs", jobs)
    assert status == 0, output
    assert set(project.ran()) >= {"right", "end"}


@pytest.mark.slow
def test_stages_end_with_a_run_that_is_killed(tmp_path):
    project = Project(tmp_path)
    (project.notes / "hold-right").touch()
    process = start(project, "repro", "--jobs", 2)
    project.wait_for("right")
    process.kill()
    wait_until_nothing_runs(project)
    (project.notes / "hold-right").unlink()
    status, output = call(project, "repro", "--jobs", 2)
    assert status == 0, output


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib", "basic", "submitit_local"])
def test_points_end_with_a_sweep_that_is_killed(tmp_path, launcher):
    """Those that run, and those that its launcher has handed to a process already."""
    project = Project(tmp_path)
    (project.notes / "hold-right").touch()
    sweep = ["sweep", "--name", "s", "fuzz.mutants=5,6,7", f"hydra/launcher={launcher}"]
    process = start(project, *sweep, *["hydra.launcher.n_jobs=2"][: launcher == "joblib"])
    project.wait_for("right", 1 if launcher == "basic" else 2)
    process.kill()
    wait_until_nothing_runs(project)
    assert {record["status"] for record in project.records("s")} <= {"interrupted"}
    (project.notes / "hold-right").unlink()
    project.ran()
    status, output = call(project, *sweep)
    assert status == 0, output
    assert project.ran() == ["end"] * 3 + ["right"] * 3


def test_what_is_half_written_is_finished_before_an_interrupt(tmp_path):
    file, before = tmp_path / "rwlock", signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupt_postponed() as raise_noted:
        raise_noted()
        file.write_text("{")
        os.kill(os.getpid(), signal.SIGINT)
        file.write_text("{}")
    assert file.read_text() == "{}"
    with pytest.raises(KeyboardInterrupt), interrupt_postponed() as raise_noted:
        os.kill(os.getpid(), signal.SIGINT)
        raise_noted()
        file.unlink()
    assert file.exists()
    assert signal.getsignal(signal.SIGINT) is before
