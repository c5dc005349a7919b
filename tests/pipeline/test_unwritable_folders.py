"""Folders that the commands cannot write: one line that names them, wherever they are met."""

import pytest
from small_pipeline import Project, call, start

from rights import obey_modes, read_only

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def rejected(project, *arguments):
    """The command's errors, where it ends with one."""
    process = start(project, *arguments, preexec_fn=obey_modes)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 1, output
    assert "Traceback" not in output
    return [line for line in output.splitlines() if line.startswith("error: ")]


def _told(folder):
    """What is said of a folder, and what to do."""
    return (
        f"the folder {folder} cannot be used (Permission denied): "
        "give yourself the right to read and write there"
    )


@pytest.mark.parametrize(
    ("folder", "command"),
    [
        (".", ["params"]),
        (".dvc", ["repro"]),
        ("sweeps", ["sweep", "--name", "s", "fuzz.mutants=5"]),
        (".dvc/cache", ["repro"]),
        (".dvc/tmp/asterism/locks", ["repro"]),
        (".dvc/tmp/asterism/locks", ["repro", "--jobs", 2]),
    ],
)
def test_a_read_only_folder_is_named(project, folder, command):
    with read_only(project.root / folder) as path:
        (told,) = rejected(project, *command)
    assert told.startswith("error: ") and told.endswith(_told(path))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_into_which_the_cache_cannot_put_results_is_named(project, jobs):
    assert call(project, "repro")[0] == 0
    (project.root / "metrics/left.json").unlink()
    with read_only(project.root / "metrics") as path:
        (told,) = rejected(project, "repro", "--jobs", jobs)
    assert told.startswith("error: ") and told.endswith(_told(path))


def test_a_point_names_the_folder_that_it_cannot_write_and_the_sweep_has_its_record(project):
    with read_only(project.root / ".dvc/tmp/asterism/workspaces") as path:
        assert rejected(project, "sweep", "--name", "s", "fuzz.mutants=5") == []
    (record,) = project.records("s")
    assert record["status"] == "failed"
    assert _told(path) in record["message"]


def test_a_file_in_the_place_of_the_sweeps_is_named(project):
    (project.root / "sweeps").touch()
    (told,) = rejected(project, "sweep", "--name", "s", "fuzz.mutants=5")
    assert f"the file {project.root / 'sweeps'} cannot be used (Not a directory)" in told
