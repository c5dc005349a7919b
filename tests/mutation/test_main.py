"""The whole of it, on a package of two functions of which one is tested."""

import json
import subprocess

import pytest

from mutation import __main__ as module
from mutation import running

SOURCE = """
def tested(a):
    return a + 1


def half_tested(a):
    return a > 3


def untested(a):
    return a - 2
"""
TESTS = """
from asterism.small.numbers import half_tested, tested


def test_it():
    assert tested(2) == 3
    assert half_tested(5) and not half_tested(1)
"""
#: What is left when one is named equivalent.
CHANGES = {
    "a > 3 → a >= 3",
    "3 → 4 in a > 3",
    "a - 2 → a + 2",
    "2 → 3 in a - 2",
    "return a - 2 → return a",
}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    root = tmp_path / "checkout"
    for name, text in {
        "src/asterism/__init__.py": "",
        "src/asterism/small/__init__.py": "",
        "src/asterism/small/numbers.py": SOURCE,
        "tests/small/test_numbers.py": TESTS,
        "equivalents.json": "[]",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    monkeypatch.setattr(module, "ROOT", root)
    monkeypatch.setattr(module, "EQUIVALENTS", root / "equivalents.json")
    monkeypatch.setattr(running, "LIBRARIES", ())
    return root


def survivors(output):
    lines = output.split("\n\n")[0].splitlines()
    return {line.partition(": ")[2].rpartition("  (")[0] for line in lines}


def test_survivors_are_printed_and_what_is_known_is_not_tried_again(
    checkout, tmp_path, capsys, monkeypatch
):
    arguments = ["--state", str(tmp_path / "state"), "--sample", "99"]
    assert module.main(arguments) == 1
    first = capsys.readouterr().out
    assert survivors(first) == CHANGES
    assert first.splitlines()[-1].split() == ["all", "9", "4", "5", "44%"]
    known = (tmp_path / "state/results.jsonl").read_text()
    assert module.main(arguments) == 1
    assert capsys.readouterr().out == first
    assert (tmp_path / "state/results.jsonl").read_text() == known

    named = {"file": "asterism/small/numbers.py", "function": "half_tested"}
    named |= {"change": "3 → 4 in a > 3", "reason": "No caller has whole numbers."}
    (checkout / "equivalents.json").write_text(json.dumps([named]))
    tests = checkout / "tests/small/test_numbers.py"
    more = "from asterism.small.numbers import untested\n" + TESTS
    tests.write_text(more + "    assert untested(5) == 3 and half_tested(3) is False\n")
    assert module.main(arguments) == 0
    last = capsys.readouterr().out
    assert last.splitlines()[-1].split() == ["all", "8", "8", "0", "100%"]
    assert json.loads((tmp_path / "state/results.jsonl").read_text().splitlines()[0])["key"]


@pytest.mark.slow
def test_a_fault_that_ends_the_process_of_the_tests_is_caught(checkout, tmp_path, capsys):
    more = "    if half_tested(3):\n        __import__('os')._exit(9)\n"
    (checkout / "tests/small/test_numbers.py").write_text(TESTS + more)
    assert module.main(["--state", str(tmp_path / "state"), "--sample", "99"]) == 1
    assert survivors(capsys.readouterr().out) == CHANGES - {"a > 3 → a >= 3"}


def test_a_package_below_its_bar_fails_although_all_together_reach_theirs(capsys):
    faults = {"good": [None] * 90, "bad": [None] * 10}
    assert module.report(faults, {"good": 90, "bad": 7}) == 1
    assert module.report(faults, {"good": 90, "bad": 8}) == 0
    assert module.report(faults, {"good": 81, "bad": 8}) == 1
    assert capsys.readouterr().out.splitlines()[-1].split() == ["all", "100", "89", "11", "89%"]
