"""Running the scripts of a collection again, and noting what they print."""

import pytest
from small_findings import SCRIPT, candidate
from typer.testing import CliRunner

from asterism.cli.commands import app
from asterism.core.files.artifacts import write_json
from asterism.findings.checking import (
    GONE,
    LATE,
    LIVES,
    OTHER,
    check_all,
    note_run,
    sample_of,
    word_of,
)
from asterism.findings.diagnosis import Diagnosis
from asterism.findings.entry import read_entries, read_entry
from places import ROOT

FACTS = {
    "pieces": [],
    "coverage": {"types": 0.0, "parameters": 0.0, "inputs": 0.0},
    "counts": {"merged": 0, "limits": 0, "unconfirmed": 0, "large": 0},
    "operators": {"models": 0},
}


def collection(folder, **statuses):
    for name, status in statuses.items():
        made = candidate(folder, name, status)
        made.entry.write(made.folder)
    return folder


def the_word(folder, entries, **more):
    ((entry, ran),) = check_all(folder, entries, **more)
    return word_of(entry, ran)


def said(folder, text, **given):
    made = candidate(folder, "one", text=text, **given)
    made.entry.write(made.folder)
    return the_word(folder, [made.entry], seconds=20)


def test_each_script_says_by_its_status_whether_its_bug_lives(tmp_path):
    collection(tmp_path, a=1, b=0, c=2)
    words = [word_of(entry, ran) for entry, ran in check_all(tmp_path, read_entries(tmp_path))]
    assert words == [LIVES, GONE, OTHER]


@pytest.mark.parametrize(
    ("text", "given", "word"),
    [
        ("print('expected 1')\nraise ValueError\n", {}, OTHER),  # it fails before it shows
        ("import no_such_package\n", {}, OTHER),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", {}, OTHER),
        (
            "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
            {"symptom": "crash"},
            LIVES,
        ),
        (SCRIPT, {"symptom": "crash"}, OTHER),
        (SCRIPT, {"told": Diagnosis("a", "difference", shows=("actual   2",))}, LIVES),
        (SCRIPT, {"told": Diagnosis("a", "difference", shows=("another error",))}, OTHER),
    ],
)
def test_an_end_that_says_nothing_of_the_bug_is_told_apart(tmp_path, text, given, word):
    assert said(tmp_path, text, **given) == word


def test_a_script_that_takes_too_long_is_ended(tmp_path):
    collection(tmp_path, a=1)
    (tmp_path / "a" / "repro.py").write_text("import time\ntime.sleep(60)\n")
    assert the_word(tmp_path, read_entries(tmp_path), seconds=0.5) == LATE


def test_what_a_script_printed_is_noted_with_the_machine_and_without_its_folders(tmp_path):
    collection(tmp_path, a=1)
    text = "import sys\nprint('noise', sys.prefix)\nprint('expected 1')\n"
    text += "print('actual  ', sys.prefix + '/x.py', hex(2**40), __file__)\nsys.exit(1)\n"
    (tmp_path / "a" / "repro.py").write_text(text)
    (checked,) = check_all(tmp_path, read_entries(tmp_path))
    noted = note_run(tmp_path, *checked)
    assert noted == read_entry(tmp_path, "a")
    assert noted.ran.output.splitlines()[0] == "expected 1"
    assert noted.ran.output.splitlines()[1].split() == ["actual", "x.py", "0x…", "repro.py"]
    assert noted.ran.python and noted.ran.system and noted.ran.processor


def test_a_crash_is_named_in_what_is_noted(tmp_path):
    text = "import os, signal\nprint('expected 1')\nos.kill(os.getpid(), signal.SIGFPE)\n"
    made = candidate(tmp_path, "a", text=text, symptom="crash")
    made.entry.write(made.folder)
    (checked,) = check_all(tmp_path, [made.entry])
    assert "SIGFPE" in note_run(tmp_path, *checked).ran.output


@pytest.mark.parametrize(("statuses", "expected"), [({"a": 1, "b": 0}, 0), ({"a": 1, "b": 2}, 1)])
def test_the_command_fails_where_a_script_cannot_tell(tmp_path, statuses, expected):
    collection(tmp_path, **statuses)
    done = CliRunner().invoke(app, ["check-findings", "--folder", str(tmp_path)])
    assert done.exit_code == expected
    assert "2 checked: 1 lives" in done.output


def test_the_command_writes_reports_of_what_its_run_printed(tmp_path):
    collection(tmp_path, a=1)
    write_json(tmp_path / "campaign.json", FACTS)
    done = CliRunner().invoke(app, ["check-findings", "--folder", str(tmp_path), "--write"])
    assert done.exit_code == 0, done.output
    assert "actual   2" in (tmp_path / "a" / "report.md").read_text()
    assert "(a/report.md)" in (tmp_path / "README.md").read_text()


def test_a_folder_without_findings_is_told(tmp_path):
    done = CliRunner().invoke(app, ["check-findings", "--folder", str(tmp_path)])
    assert done.exit_code != 0


def test_a_sample_is_drawn_and_the_same_again(tmp_path):
    entries = read_entries(collection(tmp_path, **dict.fromkeys("abcdefgh", 1)))
    chosen = sample_of(entries, 3, 0)
    assert len(chosen) == 3
    assert chosen == sample_of(entries, 3, 0)
    assert sample_of(entries, 20, 0) == entries


@pytest.mark.slow
def test_some_bugs_of_the_collection_can_be_checked_here():
    folder = ROOT / "findings"
    chosen = sample_of(read_entries(folder), 4, 1)
    assert len(chosen) == 4
    for entry, ran in check_all(folder, chosen):
        assert word_of(entry, ran) in (LIVES, GONE), entry.name
