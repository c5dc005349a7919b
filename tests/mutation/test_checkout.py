"""Faults go into a copy; which functions run is noted, also in processes that tests start."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mutation import running
from mutation.checkout import Copy, noting
from mutation.executed import executed_by
from mutation.faults import faults_of
from mutation.running import run_tests

MODULE = '''"""Doc."""
from __future__ import annotations


def double(a: int) -> int:
    """Doc."""
    return a * 2


def endless(a: int) -> int:
    while a > 0:
        a -= 1
    return a
'''
TESTS = """
import subprocess
import sys
import time

import pytest

from asterism.numbers import double, endless
from conftest import ENVIRONMENT


@pytest.fixture(scope="module")
def four():
    return double(2)


def test_here(four):
    assert four == 4


def test_again(four):
    assert four + 1 == 5


def test_in_a_process():
    program = "from asterism.numbers import double; print(double(4))"
    assert subprocess.check_output([sys.executable, "-c", program], env=ENVIRONMENT) == b"8\\n"


def test_ends():
    assert endless(3) == 0


def test_fails():
    assert double(1) == 3
"""


@pytest.fixture
def checkout(tmp_path):
    root = tmp_path / "checkout"
    (root / "src/asterism").mkdir(parents=True)
    (root / "src/asterism/__init__.py").write_text("")
    (root / "src/asterism/numbers.py").write_text(MODULE)
    (root / "tests").mkdir()
    (root / "tests/test_numbers.py").write_text(TESTS)
    (root / "tests/conftest.py").write_text("import os\n\nENVIRONMENT = dict(os.environ)\n")
    (root / "ignored").write_text("")
    (root / ".gitignore").write_text("ignored\n")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    return root


def content(root):
    files = [p for p in root.rglob("*") if p.is_file() and ".git" not in p.parts]
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in files}


def fault_of(checkout, change):
    file = "asterism/numbers.py"
    (fault,) = [f for f in faults_of(MODULE, file) if f.change.startswith(change)]
    return fault


def tried(copy, tests, seconds=30):
    return run_tests(copy.folder, tests, seconds, copy.folder.parent / "log", list)


@pytest.mark.slow
def test_faults_are_noticed_in_a_copy_and_the_checkout_stays_as_it_is(checkout, tmp_path):
    before = content(checkout)
    copy = Copy(checkout, tmp_path / "state" / "copy")
    assert not (copy.folder / "ignored").exists()
    good = [f"tests/test_numbers.py::test_{name}" for name in ("here", "in_a_process", "ends")]
    assert tried(copy, good) == 0
    with copy.with_fault(fault_of(checkout, "a * 2")):
        assert tried(copy, good[:1]) == 1
        assert tried(copy, good[1:2]) == 1, "also where another process runs it"
        assert tried(copy, good[2:]) == 0
    assert tried(copy, good) == 0, "and it is taken out again"
    with copy.with_fault(fault_of(checkout, "no a -= 1")):
        assert tried(copy, good[2:], 2) is None, "what never ends is stopped"
    assert content(checkout) == before


def test_what_waits_for_nothing_is_stopped_long_before_its_time_is_up(
    checkout, tmp_path, monkeypatch
):
    monkeypatch.setattr(running, "_IDLE", 3)
    (checkout / "tests/test_waits.py").write_text(
        "import threading\n\n\ndef test_it():\n    threading.Event().wait()\n"
    )
    copy = Copy(checkout, tmp_path / "state" / "copy")
    begun = time.monotonic()
    assert tried(copy, ["tests/test_waits.py"], 100_000) is None
    assert time.monotonic() - begun < 1000


@pytest.mark.slow
def test_the_functions_that_tests_run_are_noted_in_fixtures_and_processes_too(checkout, tmp_path):
    copy = Copy(checkout, tmp_path / "state" / "noting")
    copy.note_functions()
    memory = tmp_path / "memory"
    memory.mkdir()
    found = executed_by(copy, Path("tests/test_numbers.py"), memory)["tests"]
    names = {test.rpartition("::")[2]: facts["functions"] for test, facts in found.items()}
    double = ["asterism/numbers.py:double"]
    assert names == {
        "test_here": double,
        "test_again": double,
        "test_in_a_process": double,
        "test_ends": ["asterism/numbers.py:endless"],
    }, "and the test that fails without any fault is none that could notice one"
    assert executed_by(copy, Path("tests/test_numbers.py"), memory)["tests"] == found
    again = "\n\ndef test_more():\n    assert endless(1) == 0\n"
    for root in (checkout, copy.folder):
        (root / "tests/test_numbers.py").write_text(
            TESTS.replace("def test_here", "def test_there") + again
        )
    changed = executed_by(copy, Path("tests/test_numbers.py"), memory)["tests"]
    assert {test.rpartition("::")[2] for test in changed} == {
        *("test_there", "test_again", "test_in_a_process", "test_ends", "test_more")
    }
    kept = found.keys() & changed.keys()
    assert len(kept) == 3
    assert all(changed[test] is not None and changed[test] == found[test] for test in kept)


@pytest.mark.slow
def test_tests_are_recorded_anew_where_a_function_that_they_ran_was_moved(checkout, tmp_path):
    memory, file = tmp_path / "memory", Path("tests/test_numbers.py")
    memory.mkdir()

    def recorded(number):
        copy = Copy(checkout, tmp_path / f"state-{number}" / "noting")
        copy.note_functions()
        tests = executed_by(copy, file, memory)["tests"]
        return {test.rpartition("::")[2]: facts["functions"] for test, facts in tests.items()}

    before = recorded(0)
    source = checkout / "src/asterism"
    (source / "moved.py").write_text(MODULE.partition("def endless")[0])
    endless = MODULE.partition("def endless")[2]
    (source / "numbers.py").write_text(
        f"from asterism.moved import double as double\n\n\ndef endless{endless}"
    )
    moved = {test: ["asterism/moved.py:double"] for test in before if test != "test_ends"}
    assert recorded(1) == before | moved != before


def test_a_module_that_notes_its_functions_does_what_it_did(tmp_path):
    (tmp_path / "asterism_noting.py").write_text("def note(name):\n    print(name)\n")
    (tmp_path / "m.py").write_text(noting(MODULE, "m.py"))
    program = "import m; print(m.double(3), m.double.__doc__, m.__doc__)"
    done = subprocess.check_output([sys.executable, "-c", program], cwd=tmp_path, text=True)
    assert done.split("\n")[:2] == ["m.py:double", "6 Doc. Doc."]
    (tmp_path / "asterism_noting.py").unlink()  # as for a file that is run without its folder
    done = subprocess.check_output([sys.executable, "-c", program], cwd=tmp_path, text=True)
    assert done == "6 Doc. Doc.\n"
