"""Removing folders that somebody else has filled, or a killed writer has left."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from asterism.core.files.artifacts import replacing, write_json
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


def names(folder):
    return {path.name for path in folder.iterdir()}


def writer(path, *lines):
    """A process that is at writing a path, and does some more lines of code there."""
    program = f"""
        import os, signal, sys
        from pathlib import Path
        from asterism.core.files.artifacts import replacing
        with replacing(Path({str(path)!r})) as temporary:
    """
    body = textwrap.indent("\n".join(lines), "    ")
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program) + body],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def killed(path, *lines):
    process = writer(path, *lines, "os.kill(os.getpid(), signal.SIGKILL)")
    assert process.wait(60) == -signal.SIGKILL


@pytest.mark.parametrize("made", ["temporary.write_text('half')", "temporary.mkdir()"])
def test_a_killed_writers_scratch_goes_with_the_next_writing(tmp_path, made):
    path = tmp_path / "metrics" / "[a].json"
    killed(path, made)
    assert len(names(path.parent)) == 1
    write_json(path, {})
    assert names(path.parent) == {path.name}


def test_other_names_stay(tmp_path):
    path = tmp_path / "a.json"
    others = [".a.json.abcdefghi", ".a.json.ABCDEFGH", "a.json.abcdefgh", ".b.json.abcdefgh"]
    for name in others:
        (tmp_path / name).mkdir()
    (tmp_path / ".a.json.abcdefgh").touch()
    write_json(path, {})
    assert names(tmp_path) == {*others, ".a.json.abcdefgh", "a.json"}


def test_a_writer_at_work_is_left_alone(tmp_path):
    path = tmp_path / "a.txt"
    lines = ("temporary.write_text('theirs')", "print('there', flush=True)", "sys.stdin.read()")
    process = writer(path, *lines)
    assert process.stdout.readline() == "there\n"
    with replacing(path) as temporary:
        temporary.write_text("ours")
    assert path.read_text() == "ours"
    process.communicate("", timeout=60)
    assert process.returncode == 0
    assert path.read_text() == "theirs"
    assert names(tmp_path) == {"a.txt"}


@pytest.mark.slow
def test_writers_of_one_path_never_take_each_others_scratch(tmp_path):
    path = tmp_path / "a.txt"
    program = (
        "from pathlib import Path\nfrom asterism.core.files.artifacts import write_json\n"
        f"for number in range(300):\n    write_json(Path({str(path)!r}), number)\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(4)]
    assert [process.wait(120) for process in processes] == [0, 0, 0, 0]
    assert names(tmp_path) == {"a.txt"}
