"""Folders that the commands cannot write: one line that names them, wherever they are met."""

import subprocess

import pytest
from small_pipeline import Project, asterism, call

from rights import obey_modes, read_only


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def rejected(project, *arguments):
    """The command's errors, where it ends with one."""
    ended = subprocess.run(
        asterism(*arguments),
        cwd=project.root,
        env=project.environment,
        preexec_fn=obey_modes,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )
    assert ended.returncode == 1, ended.stdout
    assert "Traceback" not in ended.stdout
    return [line for line in ended.stdout.splitlines() if line.startswith("error: ")]


@pytest.mark.parametrize(
    ("folder", "command"),
    [
        pytest.param(".", ["params"], marks=pytest.mark.slow),
        pytest.param(".dvc", ["repro"], marks=pytest.mark.slow),
        pytest.param("sweeps", ["sweep", "--name", "s", "fuzz.mutants=5"], marks=pytest.mark.slow),
        pytest.param(".dvc/cache", ["repro"], marks=pytest.mark.slow),
        pytest.param(".dvc/tmp/asterism/locks", ["repro"], marks=pytest.mark.slow),
        pytest.param(".dvc/tmp/asterism/locks", ["repro", "--jobs", 2], marks=pytest.mark.slow),
    ],
)
def test_a_read_only_folder_is_named(project, folder, command):
    with read_only(project.root / folder) as path:
        (told,) = rejected(project, *command)
    assert told == (
        f"error: the folder {path} cannot be used (Permission denied): "
        "give yourself the right to read and write there"
    )


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_into_which_the_cache_cannot_put_results_is_named(project, jobs):
    assert call(project, "repro")[0] == 0
    (project.root / "metrics/left.json").unlink()
    with read_only(project.root / "metrics") as path:
        (told,) = rejected(project, "repro", "--jobs", jobs)
    assert told == (
        f"error: stage left: what the cache has cannot be put into {path}: "
        "give yourself the right to write there, or make room"
    )


@pytest.mark.slow
def test_a_point_names_the_folder_that_it_cannot_write_and_the_sweep_has_its_record(project):
    with read_only(project.root / ".dvc/tmp/asterism/workspaces") as path:
        assert rejected(project, "sweep", "--name", "s", "fuzz.mutants=5") == []
    (record,) = project.records("s")
    assert record["status"] == "failed"
    assert f"the folder {path} cannot be used (Permission denied)" in record["message"]


@pytest.mark.slow
def test_a_file_in_the_place_of_the_sweeps_is_named(project):
    (project.root / "sweeps").touch()
    (told,) = rejected(project, "sweep", "--name", "s", "fuzz.mutants=5")
    assert f"the file {project.root / 'sweeps'} cannot be used (Not a directory)" in told
