"""Findings that were seen by hand: what fresh processes show gets a folder."""

import pytest

from asterism.core.messages.errors import UserError
from asterism.findings.by_hand import Seen, add_by_hand
from asterism.findings.entry import read_entries

WRONG = "import sys\nprint('expected', 1)\nprint('actual  ', {factor})\nsys.exit({factor} != 1)\n"


def seen(**given):
    facts = {"library": "numpy", "symptom": "values differ", "layer": "np.ones"}
    rest = {"backend": "numpy:eager", "parameters": {}, "inputs": "normal", "packages": ["numpy"]}
    return Seen(**{**facts, **rest, **given})


def test_a_script_that_shows_it_gets_a_folder(tmp_path):
    script = tmp_path / "seen.py"
    script.write_text(WRONG.format(factor=2))
    collection = tmp_path / "findings"
    entry = add_by_hand(script, seen(title="ones gives twos"), collection)
    assert [e.name for e in read_entries(collection)] == [entry.name]
    assert (entry.source, entry.statuses) == ("hand", (1, 1, 1))
    assert (collection / entry.name / "repro.py").read_text() == WRONG.format(factor=2)
    assert entry.ran.output.split() == ["expected", "1", "actual", "2"]
    assert entry.diagnosis.title == "ones gives twos"


def test_a_script_that_shows_nothing_gets_none(tmp_path):
    script = tmp_path / "seen.py"
    script.write_text(WRONG.format(factor=1))
    with pytest.raises(UserError, match="is not confirmed"):
        add_by_hand(script, seen(), tmp_path / "findings")
    assert read_entries(tmp_path / "findings") == []


def test_a_script_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UserError, match=r"there is no script .*none\.py"):
        add_by_hand(tmp_path / "none.py", seen(), tmp_path / "findings")
    assert not (tmp_path / "findings").exists()


def test_a_symptom_is_one_that_is_known():
    with pytest.raises(UserError, match="'odd' is none of"):
        seen(symptom="odd")
