"""Situations that people report: is what the program says of each right? Do its checks tell?

Case 08 fetches packages; no other one needs a network.
"""

import json

import pytest
import yaml
from truths import cases, written_command

from places import SHARED

FOLDER = SHARED / "cases"
NAMES = cases.cases_in(FOLDER) if FOLDER.is_dir() else []


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The command, and where files of cases are made, which some share."""
    return written_command(tmp_path_factory.mktemp("bin")), tmp_path_factory.mktemp("cases")


@pytest.mark.slow
@pytest.mark.skipif(not NAMES, reason="the cases are not on this machine")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_of_a_case_is_right(name, places):
    command, work = places
    ran = cases.run_case(FOLDER, name, work, command)
    assert cases.wrong_with(ran) == [], cases.shown(ran)


# The checks of cases tell right answers from wrong ones.


def ran(folder, name, said, truth="", word=None, agreement=None, kind="top_label", **repair):
    place = folder / name
    (place / "work/vet").mkdir(parents=True, exist_ok=True)
    (place / "out.txt").write_text(said)
    (place / "truth.txt").write_text(truth)
    if word is not None:
        certificate = {
            "verdict": {"word": word},
            "measured": {"agreement": agreement or {"differ": {"count": 0}, "lost": 0}},
            "parameters": yaml.safe_dump({"comparison": {"kind": kind}}),
            "repair": repair,
        }
        (place / "work/vet/certificate.json").write_text(json.dumps(certificate))
    return cases.Ran(place)


NAN = "accuracy 1.0 int8 NaN 0.04555555 of dark 0.2"


@pytest.mark.parametrize(
    ("word", "lost", "right"),
    [("do not ship", 41, True), ("ship", 41, False), ("do not ship", 0, False)],
)
def test_answers_that_are_not_finite(tmp_path, word, lost, right):
    agreement = {"differ": {"count": 41}, "lost": lost}
    told = ran(tmp_path, "20-int8-nan", "verdict", NAN, word, agreement)
    assert (cases.wrong_with(told) == []) is right


def test_a_traceback_is_never_right_and_a_missing_verdict_is_not_either(tmp_path):
    said = '  File "x.py", line 3, in main\nValueError: nan'
    assert cases.wrong_with(ran(tmp_path, "19-regression", said)) == [
        "a traceback",
        "there is no verdict 1",
    ]
    unmade = cases.Ran(tmp_path / "19-none")
    assert "cannot be made" in cases.wrong_with(unmade)[0]


def test_statuses_and_what_commands_say(tmp_path):
    said = "vet=0\nlibraries=0\nvet=0\nvet=0\n"
    assert cases.wrong_with(ran(tmp_path, "31-names", said)) == []
    assert cases.wrong_with(ran(tmp_path, "31-names", said.replace("vet=0", "vet=1", 1))) != []
    said = "--- asterism check /x/empty.onnx\nONNX, 0 operators\n  yes  vet it\nstatus=0\n"
    assert cases.wrong_with(ran(tmp_path, "22-other", said)) == [
        "check /x/empty.onnx: nowhere is said: empty",
        "check /x/empty.onnx: is said: ^ +yes +vet",
    ]
    assert "22-other: WRONG" in cases.shown(ran(tmp_path, "22-other", said))
