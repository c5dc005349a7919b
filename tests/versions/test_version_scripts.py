"""The script of a change: which outputs it expects, and which failure it looks for."""

import numpy as np
import pytest
from made_up_pool import PAIR, PERTURBED, pool
from small_files import chain

from asterism.libraries.adapters.backends import OF_ONNX
from asterism.libraries.judging.compare import Difference
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.running.outcomes import ExecutionOutcome
from asterism.versions import scripts
from asterism.versions.blaming import Part
from asterism.versions.comparing import Change, run_subject
from asterism.versions.subjects import subject_of

PARAMS = JudgeParams(ulps=64, conditioning=8)
X = np.array([[1, 2, 3, 4], [-1, -2, -3, -4]], np.float32)


def part_of(kind, workers=None, **facts):
    subject = subject_of("m", chain("Exp"), 4, {})
    workers = workers or pool()
    result = run_subject(workers, subject, {"normal": [X]}, [PAIR.old, PAIR.new])
    change = Change("m", PAIR, "normal", kind, **facts)
    return Part(subject, [X], change, result, 1, 1, finished=True)


def written(part, folder):
    """The text of the script of a part, and the arrays beside it."""
    path = scripts.write_part(part, folder, "a change", "A title", PARAMS)
    return path, dict(np.load(path.parent / "arrays.npz"))


def test_values_are_expected_as_the_reference_has_them(tmp_path):
    part = part_of("now wrong", new=Difference("values differ", 0, 9.0))
    moved = part.result.outputs[PERTURBED]["normal"]
    right = scripts.right_of(part, PARAMS)
    np.testing.assert_allclose(right.expected[0], np.exp(X.astype(np.float64)))
    assert right.dtypes == ["float32"]
    assert (right.allowed[0] > 0).all() and (right.allowed[0] < 0.01).all()
    moved[0] = moved[0] + 1.0  # what rounding moves is tolerated
    assert (scripts.right_of(part, PARAMS).allowed[0] > 7.9).all()
    path, arrays = written(part, tmp_path)
    assert (path.parent / "model.onnx").read_bytes() == part.subject.content
    np.testing.assert_array_equal(arrays["input0"], X)
    np.testing.assert_array_equal(arrays["expected0"], right.expected[0])


def test_the_other_version_is_the_referee_without_a_reference():
    part = part_of("differs", pool(without=(OF_ONNX.right,)), referee=PAIR.new)
    part.result.outputs[PERTURBED]["normal"][0] += 1.0
    right = scripts.right_of(part, PARAMS)
    np.testing.assert_array_equal(right.expected[0], part.result.outputs[PAIR.new]["normal"][0])
    assert (right.allowed[0] < 0.01).all()


def test_nothing_is_expected_of_a_failure(tmp_path, monkeypatch):
    place = "asterism.libraries.reporting.program_text.versions_of"
    monkeypatch.setattr(place, lambda library: {"onnxruntime": "0.1"})
    part = part_of("now runs", pool(fails=lambda kinds: "no"), said="error: Broken no")
    assert scripts.right_of(part, PARAMS) is None
    path, arrays = written(part, tmp_path)
    assert list(arrays) == ["input0"] and "expected: it runs" in path.read_text()


def test_a_script_can_be_read(tmp_path):
    path, _ = written(part_of("now wrong", new=Difference("values differ", 0, 9.0)), tmp_path)
    text = path.read_text()
    compile(text, "repro.py", "exec")
    assert "A title" in text and "asterism" not in text
    assert len(text.splitlines()) <= 25


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
    found = scripts.finding_of(part)
    assert (found.symptom, found.stage, found.backends) == (symptom, "compile", (PAIR.new,))
    assert (found.exception, found.message, found.frame) == ("a.B", "why", "f.py:g")
    assert (found.library, found.model) == ("onnxruntime", 0)


def test_what_values_are_called():
    old, new = Difference("wrong shape", 0, 0.0), Difference("wrong dtype", 0, 0.0)
    assert scripts.finding_of(part_of("now right", old=old)).symptom == "wrong shape"
    assert scripts.finding_of(part_of("both wrong", old=old, new=new)).symptom == "wrong dtype"
    assert scripts.finding_of(part_of("now right", old=old)).library == "onnxruntime"
