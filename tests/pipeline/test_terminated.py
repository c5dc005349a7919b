"""SIGTERM to a run, as a batch system or a service manager sends it: to one process."""

import os
import signal

import pytest
from small_pipeline import Project, call, start

from asterism.sweep.interrupt import interrupt_postponed
from marked import Marked


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
