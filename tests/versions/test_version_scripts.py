"""The script of a change: which outputs it expects, and which failure it looks for."""

import numpy as np
from made_up_changes import made_change
from made_up_pool import PAIR, PERTURBED, pool
from small_files import chain

from asterism.differential.adapters.backends import OF_ONNX
from asterism.differential.comparing.blaming import Part
from asterism.differential.comparing.judging import run_subject
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.subjects.onnx_file import subject_of

PARAMS = JudgeParams(ulps=64, conditioning=8)
X = np.array([[1, 2, 3, 4], [-1, -2, -3, -4]], np.float32)


def part_of(kind, workers=None, **facts):
    subject = subject_of("m", chain("Exp"), 4, {})
    workers = workers or pool()
    result = run_subject(workers, subject, {"normal": [X]}, [PAIR.old, PAIR.new])
    change = made_change(kind, **facts)
    return Part(subject, [X], change, result, 1, 1, finished=True)


def written(part, folder):
    """The text of the script of a part, and the arrays beside it."""
    path = part.write_script(folder, "A title", PARAMS)
    return path, dict(np.load(path.parent / "arrays.npz"))


def test_values_are_expected_as_the_reference_has_them(tmp_path):
    part = part_of("now wrong")
    moved = part.result.outputs[PERTURBED]["normal"]
    right = part.right(PARAMS)
    np.testing.assert_allclose(right.expected[0], np.exp(X.astype(np.float64)))
    assert right.dtypes == ["float32"]
    assert (right.allowed[0] > 0).all() and (right.allowed[0] < 0.01).all()
    moved[0] = moved[0] + 1.0  # what rounding moves is tolerated
    assert (part.right(PARAMS).allowed[0] > 7.9).all()
    path, arrays = written(part, tmp_path)
    assert (path.parent / "model.onnx").read_bytes() == part.subject.content
    np.testing.assert_array_equal(arrays["input0"], X)
    np.testing.assert_array_equal(arrays["expected0"], right.expected[0])


def test_the_other_version_is_the_referee_without_a_reference():
    part = part_of("differs", pool(without=(OF_ONNX.right,)))
    part.result.outputs[PERTURBED]["normal"][0] += 1.0
    right = part.right(PARAMS)
    np.testing.assert_array_equal(right.expected[0], part.result.outputs[PAIR.new]["normal"][0])
    assert (right.allowed[0] < 0.01).all()


def test_nothing_is_expected_of_a_failure(tmp_path, monkeypatch):
    place = "asterism.differential.report.program_text.versions_of"
    monkeypatch.setattr(place, lambda library: {"onnxruntime": "0.1"})
    part = part_of("now runs", pool(fails=lambda kinds: "no"), exception="Broken", message="no")
    assert part.right(PARAMS) is None
    path, arrays = written(part, tmp_path)
    assert list(arrays) == ["input0"] and "expected: it runs" in path.read_text()


def test_a_script_can_be_read(tmp_path):
    path, _ = written(part_of("now wrong"), tmp_path)
    text = path.read_text()
    compile(text, "repro.py", "exec")
    assert "A title" in text and "asterism" not in text
    assert len(text.splitlines()) <= 25
