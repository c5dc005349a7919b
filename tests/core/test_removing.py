"""Removing folders that somebody else has filled: of any depth, and with links."""

import os
import subprocess

import pytest

from asterism.core.files.artifacts import write_json
from asterism.core.files.folders import remove_tree
from asterism.core.resuming import saved_folders


def deep_folder(path, levels=1100):
    """Folders in folders, deeper than a path can be and functions can call, a file at the end."""
    path.mkdir(parents=True, exist_ok=True)
    here = os.open(path, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.fixture
def victim(tmp_path):
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / "file").write_text("of the user")
    yield folder
    left = (folder / "file").read_text()
    for path in tmp_path.iterdir():  # pytest could not remove what was left of a deep one
        subprocess.run(["rm", "-rf", str(path)], check=True)
    assert left == "of the user"


def filled(folder, victim):
    for name in ("a/b/c", "a/d", "e"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").touch()
        (folder / name / "link").symlink_to(victim)
    os.mkfifo(folder / "a/pipe")
    deep_folder(folder / "a/deep")


def test_all_of_a_folder_goes_and_nothing_behind_its_links(tmp_path, victim):
    filled(tmp_path / "folder", victim)
    remove_tree(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == [victim]


@pytest.mark.parametrize("what", ["victim", "victim/file", "nothing"])
def test_what_is_no_folder_is_left(tmp_path, victim, what):
    (tmp_path / "link").symlink_to(tmp_path / what)
    remove_tree(tmp_path / "link")
    remove_tree(victim / "file")
    assert (tmp_path / "link").is_symlink()


def test_what_a_killed_writer_or_somebody_else_has_left_goes(tmp_path, victim):
    filled(tmp_path / ".x.json.abcdefgh", victim)
    write_json(tmp_path / "x.json", {})
    assert {path.name for path in tmp_path.iterdir()} == {"x.json", "victim"}


def test_a_run_of_any_depth_is_measured_and_removed(state_root, victim):
    run = state_root / "units/stage/key"
    filled(run, victim)
    assert saved_folders.size(run) > 0
    with pytest.raises(saved_folders.DamagedError):
        saved_folders.read(run, lambda _: None)
    saved_folders.remove(run)
    assert list(run.parent.iterdir()) == []
