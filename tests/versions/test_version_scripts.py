"""The script of a change: which outputs it expects, and which failure it looks for."""

import numpy as np
import pytest
from made_up_pool import PAIR, PERTURBED, pool
from small_files import chain

from asterism.libraries.adapters.backends import OF_ONNX
from asterism.libraries.adapters.library import LIBRARIES
from asterism.libraries.judging.compare import Difference
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.running.outcomes import ExecutionOutcome
from asterism.versions import scripts
from asterism.versions.blaming import Part
from asterism.versions.comparing import Change, run_subject
from asterism.versions.subjects import subject_of

X = np.array([[1, 2, 3, 4], [-1, -2, -3, -4]], np.float32)


def part_of(kind, workers=None, **facts):
    subject = subject_of("m", chain("Exp"), 4, {})
    workers = workers or pool()
    result = run_subject(workers, subject, {"normal": [X]}, [PAIR.old, PAIR.new])
    change = Change("m", PAIR, "normal", kind, **facts)
    return Part(subject, [X], change, result, 1, 1, finished=True)


@pytest.fixture
def asked(monkeypatch):
    """What the writer of scripts is asked."""
    calls = []
    monkeypatch.setattr(scripts, "file_script", lambda *given: calls.append(given) or "text")
    return calls


def test_values_are_expected_as_the_reference_has_them(asked):
    off = Difference("values differ", 0, 9.0)
    part = part_of("now wrong", new=off)
    moved = part.result.outputs[PERTURBED]["normal"]
    params = JudgeParams(ulps=64, conditioning=8)
    assert scripts.script_of(part, "title", params) == "text"
    title, library, option, content, inputs, expected, finding, source = asked[0]
    assert (title, type(library), option) == ("title", LIBRARIES["onnxruntime"], "file")
    assert content == part.subject.content and inputs is part.inputs
    outputs, allowed, dtypes = expected
    np.testing.assert_allclose(outputs[0], np.exp(X.astype(np.float64)))
    assert dtypes == ["float32"] and source == "a float64 run"
    assert finding.symptom == "values differ" and finding.backends == (PAIR.new,)
    assert (allowed[0] > 0).all() and (allowed[0] < 0.01).all()
    moved[0] = moved[0] + 1.0  # what rounding moves is tolerated
    scripts.script_of(part, "title", params)
    assert (asked[1][5][1][0] > 7.9).all()


def test_the_other_version_is_the_referee_without_a_reference(asked):
    part = part_of("differs", pool(without=(OF_ONNX.right,)), referee=PAIR.new)
    part.result.outputs[PERTURBED]["normal"][0] += 1.0
    scripts.script_of(part, "title", JudgeParams(ulps=64, conditioning=8))
    _, _, _, _, _, expected, finding, source = asked[0]
    assert source == PAIR.new and finding.backends == (PAIR.old,)
    np.testing.assert_array_equal(expected[0][0], part.result.outputs[PAIR.new]["normal"][0])
    assert (expected[1][0] < 0.01).all()


def test_nothing_is_expected_of_a_failure(asked):
    part = part_of("now runs", pool(fails=lambda kinds: "no"), said="error: Broken no")
    scripts.script_of(part, "title", JudgeParams(ulps=64, conditioning=8))
    assert asked[0][5] is None and asked[0][6].symptom == "runtime crash"


def test_a_script_can_be_read():
    part = part_of("now wrong", new=Difference("values differ", 0, 9.0))
    text = scripts.script_of(part, "A title", JudgeParams(ulps=64, conditioning=8))
    compile(text, "repro.py", "exec")
    assert "A title" in text and "v0 = Exp (x)" in text
    assert "a float64 run" in text and "asterism" not in text


@pytest.mark.parametrize(
    ("status", "symptom"),
    [
        ("hang", "hang"),
        ("memory", "memory"),
        ("error", "runtime crash"),
        ("crash", "runtime crash"),
    ],
)
def test_what_a_failure_is_called(status, symptom):
    part = part_of("no longer runs", said="x", new=Difference("values differ", 0, 1.0))
    part.result.outcomes[PAIR.new] = ExecutionOutcome(
        0, PAIR.new, "compile", status, "a.B", "why", "f.py:g"
    )
    found = scripts._finding(part)
    assert (found.symptom, found.stage, found.backends) == (symptom, "compile", (PAIR.new,))
    assert (found.exception, found.message, found.frame) == ("a.B", "why", "f.py:g")
    assert (found.library, found.model) == ("onnxruntime", 0)


def test_what_values_are_called():
    old, new = Difference("wrong shape", 0, 0.0), Difference("wrong dtype", 0, 0.0)
    assert scripts._finding(part_of("now right", old=old)).symptom == "wrong shape"
    assert scripts._finding(part_of("both wrong", old=old, new=new)).symptom == "wrong dtype"
    assert scripts._finding(part_of("now right", old=old)).library == "onnxruntime"
