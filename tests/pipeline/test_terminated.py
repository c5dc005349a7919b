"""SIGTERM to a run, as a batch system or a service manager sends it: to one process."""

import os
import signal
import time

import psutil
import pytest
from small_pipeline import Project, call, start

from asterism.sweep.interrupt import interrupt_postponed


def still_running(project):
    """Commands of processes that work in the project's folder."""
    found = []
    for process in psutil.process_iter(["cwd", "cmdline", "status"]):
        info = process.info
        if info["cwd"] == str(project.root) and info["status"] != psutil.STATUS_ZOMBIE:
            found.append(info["cmdline"])
    return found


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
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


def test_stages_end_with_a_run_that_is_killed(tmp_path):
    project = Project(tmp_path)
    (project.notes / "hold-right").touch()
    process = start(project, "repro", "--jobs", 2)
    project.wait_for("right")
    process.kill()
    begun = time.monotonic()
    while still_running(project):
        assert time.monotonic() - begun < 20, still_running(project)
        time.sleep(0.1)
    (project.notes / "hold-right").unlink()
    status, output = call(project, "repro", "--jobs", 2)
    assert status == 0, output


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
