"""Running the checks of a collection again."""

import pytest
from small_findings import candidate
from typer.testing import CliRunner

from asterism.cli.commands import app
from asterism.findings.checking import GONE, LATE, LIVES, OTHER, check_all, sample_of
from asterism.findings.entry import read_entries
from places import ROOT


def collection(folder, **statuses):
    for name, status in statuses.items():
        made = candidate(folder, name, status)
        made.entry.write(made.folder)
    return folder


def test_each_check_says_whether_its_bug_lives(tmp_path):
    collection(tmp_path, a=1, b=0, c=2)
    words = [c.word for c in check_all(tmp_path, read_entries(tmp_path))]
    assert words == [LIVES, GONE, OTHER]


def test_a_check_that_takes_too_long_is_ended(tmp_path):
    collection(tmp_path, a=1)
    (tmp_path / "a" / "check.py").write_text("import time\ntime.sleep(60)\n")
    (checked,) = check_all(tmp_path, read_entries(tmp_path), seconds=0.5)
    assert checked.word == LATE


@pytest.mark.parametrize(("statuses", "expected"), [({"a": 1, "b": 0}, 0), ({"a": 1, "b": 2}, 1)])
def test_the_command_fails_where_a_check_cannot_tell(tmp_path, statuses, expected):
    collection(tmp_path, **statuses)
    done = CliRunner().invoke(app, ["check-findings", "--folder", str(tmp_path)])
    assert done.exit_code == expected
    assert "2 checked: 1 lives" in done.output


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
    for checked in check_all(folder, chosen):
        assert checked.word in (LIVES, GONE), checked.entry.name
