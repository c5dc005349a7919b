"""A journal keeps what was appended, whatever happens to its writers and to its file."""

import os
import signal
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asterism.core.messages.errors import UserError
from asterism.core.resuming.journal import Journal
from asterism.core.resuming.state import Run
from places import ROOT

RUN = Run("stage", "0" * 32)


def aside(path):
    return sorted(other.name for other in path.parent.glob(f"{path.name}.damaged-*"))


@pytest.fixture
def path(state_root):
    return RUN.checkpoint("facts") / "facts.jsonl"


def test_it_gives_what_was_appended_in_order(path):
    assert Journal(path).read() == []
    facts = [{"a": 1}, [True, None], "línea\nof two", 0.5]
    for fact in facts:
        Journal(path).append(fact)
    assert Journal(path).read() == facts and aside(path) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.data())
def test_a_file_that_was_cut_off_anywhere_keeps_its_whole_lines_and_goes_on(path, data):
    path.unlink(missing_ok=True)
    journal = Journal(path)
    for number in range(6):
        journal.append({"number": number})
    content = path.read_bytes()
    left = content[: data.draw(st.integers(0, len(content)))]
    path.write_bytes(left)
    whole = [{"number": number} for number in range(left.count(b"\n"))]
    if data.draw(st.booleans()):
        assert journal.read() == whole
    journal.append("next")
    assert journal.read() == [*whole, "next"] and aside(path) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(at=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_damage_takes_only_the_lines_that_it_hits(path, at, byte):
    path.unlink(missing_ok=True)
    journal, before = Journal(path), len(aside(path)) if path.parent.exists() else 0
    for number in range(6):
        journal.append({"number": number})
    content = bytearray(path.read_bytes())
    at %= len(content) - 1  # the last byte alone may be missing, as after a kill
    is_other = content[at] != byte
    content[at] = byte
    path.write_bytes(content)
    read = journal.read()
    assert len(read) >= 4 and all(fact in [{"number": n} for n in range(6)] for fact in read)
    assert (len(read) < 6) == is_other and len(aside(path)) - before == is_other
    assert journal.read() == read, "what is whole begins a new journal"
    assert len(aside(path)) - before == is_other


def test_a_link_in_its_place_is_set_aside_and_one_to_its_folder_is_rejected(path, tmp_path):
    other = tmp_path / "other"
    other.write_text("not ours\n")
    path.parent.mkdir(parents=True)
    path.symlink_to(other)
    assert Journal(path).read() == [] and aside(path)
    Journal(path).append(1)
    assert Journal(path).read() == [1] and other.read_text() == "not ours\n"
    assert [folder.name for folder in RUN.damaged()] == aside(path)
    assert RUN.remove_damaged() and not aside(path)
    path.parent.rename(tmp_path / "moved")
    path.parent.symlink_to(tmp_path / "moved")
    with pytest.raises(UserError, match="is a symbolic link"):
        Journal(path).read()


PROGRAM = """
import sys
from pathlib import Path
from asterism.core.resuming.journal import Journal
journal, number = Journal(Path(sys.argv[1])), 0
while True:
    journal.append([sys.argv[2], number])
    print(number, flush=True)
    number += 1
"""


@pytest.mark.slow
def test_two_processes_append_and_a_kill_loses_nothing_that_was_appended(path, state_root):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(path), name],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "ab"
    ]
    for process in processes:
        for _ in range(200):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    told = {
        name: 200 + len(process.stdout.readlines())
        for name, process in zip("ab", processes, strict=True)
    }
    for process in processes:
        process.wait()
        process.stdout.close()
    read = Journal(path).read()
    for name, count in told.items():
        numbers = [number for writer, number in read if writer == name]
        assert numbers[:count] == list(range(count)) and len(numbers) <= count + 1
    assert aside(path) == []
