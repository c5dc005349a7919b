"""What a killed writer leaves: the next writer of the same path removes it, and nothing else."""

import signal
import subprocess
import sys
import textwrap

import pytest

from asterism.core.files.artifacts import replacing, write_json


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
