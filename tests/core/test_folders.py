"""Folders that somebody else has made: read within, removed whatever is in them."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from asterism.core.files import folders
from asterism.core.files.artifacts import replacing, write_json
from asterism.core.files.folders import list_plain_files, remove_tree
from asterism.core.files.hashes import hash_path
from asterism.core.messages.errors import UserError
from asterism.core.resuming import saved_folders
from asterism.data.given import list_input_files
from asterism.differential.reducing.params import ReduceParams
from asterism.differential.reducing.reduction import find_user_models


@pytest.fixture
def given(tmp_path):
    """A folder with a file, beside one of the user's that it has no business with."""
    (tmp_path / "secret.onnx").write_text("of nobody else")
    (tmp_path / "private").mkdir()
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "a.onnx").write_text("a")
    return folder


LINKS = {
    "a file": "../secret.onnx",
    "a folder": "../private",
    "nothing": "none",
    "a circle": "link.onnx",
    "a device": "/dev/zero",
    "all": "/",
}
READERS = {
    "inputs": list_input_files,
    "hash": hash_path,
    "seed models": lambda folder: find_user_models(
        ReduceParams.model_construct(user_model=str(folder), models=[], user_input_shape=None)
    ),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("target", LINKS.values(), ids=LINKS)
def test_a_link_out_of_the_folder_is_rejected_by_name(given, read, target):
    (given / "link.onnx").symlink_to(target)
    with pytest.raises(UserError, match=r"link\.onnx"):
        read(given)


def test_links_within_the_folder_are_files_and_a_circle_of_folders_is_no_matter(given):
    (given / "below").mkdir()
    (given / "below/b").write_text("b")
    (given / "again").symlink_to("a.onnx")
    (given / "below/up").symlink_to("..")
    (given.parent / "named").symlink_to(given)
    found = list_plain_files(given.parent / "named")
    assert [path.relative_to(given.parent / "named").as_posix() for path in found] == [
        "a.onnx",
        "again",
        "below/b",
    ]
    assert [path.name for path in list_plain_files(given, below=False)] == ["a.onnx", "again"]


@pytest.mark.parametrize("read", [list_input_files, hash_path])
def test_a_pipe_is_not_waited_for(given, read):
    before = read(given)
    os.mkfifo(given / "pipe.png")
    assert read(given) == before


@pytest.mark.parametrize(("limit", "value"), [("_MOST", 3), ("_DEEPEST", 1)])
def test_a_folder_of_any_size_is_given_up(given, monkeypatch, limit, value):
    (given / "1/2/3").mkdir(parents=True)
    (given / "1/2/3/4").write_text("4")
    assert len(list_plain_files(given)) == 2
    monkeypatch.setattr(folders, limit, value)
    with pytest.raises(UserError, match="more than"):
        list_plain_files(given)


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


def test_all_of_a_folder_goes_and_nothing_behind_its_links(tmp_path, victim):
    filled(tmp_path / "folder", victim)
    remove_tree(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == [victim]


@pytest.mark.parametrize("what", ["victim", "victim/file", "nothing"])
def test_what_is_no_folder_is_left(tmp_path, victim, what):
    (tmp_path / "link").symlink_to(tmp_path / what)
    remove_tree(tmp_path / "link")
    remove_tree(victim / "file")
    os.mkfifo(tmp_path / "pipe")
    remove_tree(tmp_path / "pipe")
    assert (tmp_path / "link").is_symlink()


def test_what_a_killed_writer_or_somebody_else_has_left_goes(tmp_path, victim):
    filled(tmp_path / ".x.json.abcdefgh", victim)
    write_json(tmp_path / "x.json", {})
    assert {path.name for path in tmp_path.iterdir()} == {"x.json", "victim"}


def test_a_folder_that_is_too_deep_stops_nothing(state_root, victim):
    run = state_root / "units/stage/key"
    deep_folder(run)
    assert saved_folders.size(run) > 0
    saved_folders.remove(run)


def test_a_run_is_measured_and_removed_without_what_its_links_lead_to(state_root, victim):
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
