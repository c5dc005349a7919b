"""Findings that were seen by hand: what fresh processes show gets a folder."""

import pytest

from asterism.core.messages.errors import UserError
from asterism.findings.by_hand import add_by_hand
from asterism.findings.entry import read_entries
from asterism.findings.sightings import Sighting

WRONG = "import sys\nprint('expected', 1)\nprint('actual  ', {factor})\nsys.exit({factor} != 1)\n"


def add(script, collection, symptom="values differ", title=""):
    given = script, "numpy:eager", "numpy", symptom, "np.ones", {}, "normal"
    return add_by_hand(script, Sighting(*given), ["numpy"], title, collection)


def test_a_script_that_shows_it_gets_a_folder(tmp_path):
    script = tmp_path / "seen.py"
    script.write_text(WRONG.format(factor=2))
    collection = tmp_path / "findings"
    entry = add(script, collection, title="ones gives twos")
    assert [e.name for e in read_entries(collection)] == [entry.name]
    assert entry.source == "hand"
    assert (collection / entry.name / "repro.py").read_text() == WRONG.format(factor=2)
    assert entry.ran.output.split() == ["expected", "1", "actual", "2"]
    assert entry.diagnosis.title == "ones gives twos"


def test_a_script_that_shows_nothing_gets_none(tmp_path):
    script = tmp_path / "seen.py"
    script.write_text(WRONG.format(factor=1))
    with pytest.raises(UserError, match="is not confirmed"):
        add(script, tmp_path / "findings")
    assert read_entries(tmp_path / "findings") == []


def test_a_script_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UserError, match=r"there is no script .*none\.py"):
        add(tmp_path / "none.py", tmp_path / "findings")
    assert not (tmp_path / "findings").exists()


def test_a_symptom_is_one_that_is_known(tmp_path):
    script = tmp_path / "seen.py"
    script.write_text(WRONG.format(factor=2))
    with pytest.raises(UserError, match="'odd' is none of"):
        add(script, tmp_path / "findings", symptom="odd")
