"""WorkUnits of a long stage stay until DVC has committed what the stage wrote: with DVC itself."""

import subprocess

import pytest
from sharing import call as call_plainly
from small_pipeline import PARTS, Project, call

from rights import full

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path, long=True)
    project.expect(1)
    return project


def dvc(project, *arguments):
    """Exit status and output of a DVC command in a project."""
    return call_plainly(project, "dvc", *arguments, check=False)


def computed(project):
    """How many units were computed since the last call."""
    count = len(project.shared())
    (project.notes / "units").unlink(missing_ok=True)
    return count


def kept(project):
    """Keys of the runs of which there is state."""
    folder = project.root.parent / "state/units/long"
    return sorted(path.name for path in folder.glob("*/"))


@pytest.mark.parametrize("command", ["dvc", "asterism"])
def test_a_disk_that_is_full_when_dvc_commits_costs_no_unit(project, command):
    """Also where dvc.lock comes with the project and names the very outputs."""

    def repro():
        return dvc(project, "repro") if command == "dvc" else call(project, "repro")

    assert repro()[0] == 0
    assert computed(project) == 12
    subprocess.run(["rm", "-r", ".dvc/cache", "artifacts"], cwd=project.root, check=True)
    # A clone that computes what its dvc.lock names: the first run's units are another machine's.
    subprocess.run(["rm", "-r", str(project.root.parent / "state")], check=True)
    with full(project.root / ".dvc/cache") as cache:
        (cache / "filler").write_bytes(b"x" * 65536)
        status, output = repro()
        assert status != 0, output
        assert "No space left on device" in output
        assert computed(project) == 12
        assert repro()[0] != 0
        assert computed(project) == 0, "nor does another try with the disk still full"
    status, output = repro()
    assert status == 0, output
    assert "finished_units='12 of 12'" in output
    assert computed(project) == 0
    assert (project.root / "artifacts/long").read_text() == PARTS


def test_asterism_removes_units_of_a_run_that_ended_between_commit_and_removal(project):
    """As after a SIGKILL in between, or a plain ``dvc repro``: there is no stage left to run."""
    assert dvc(project, "repro")[0] == 0
    assert len(kept(project)) == 1
    status, output = call(project, "repro")
    assert status == 0, output
    assert "up to date" in output
    assert kept(project) == []


def test_a_stage_that_ran_without_dvc_keeps_its_units(project):
    for units in (12, 0):
        command = ["python", "stages", "long"]
        subprocess.run(command, cwd=project.root, env=project.environment, check=True)
        assert computed(project) == units
    assert len(kept(project)) == 1
    status, output = call(project, "state")
    assert status == 0
    assert ": 12 units, " in output
    assert ", finished\n" in output


def test_outputs_that_dvc_was_not_to_commit_are_not_taken_for_committed(project):
    assert dvc(project, "repro", "--no-commit")[0] == 0
    assert ", finished\n" in call(project, "state")[1]
    assert dvc(project, "commit", "--force")[0] == 0
    assert ", committed\n" in call(project, "state")[1]
    status, output = call(project, "state", "--clean")
    assert status == 0
    assert "removed: its outputs are committed" in output
    assert kept(project) == []
