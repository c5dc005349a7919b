"""What an upgrade does to a model, judged from outputs alone."""

import numpy as np
import pytest
from made_up_pool import PAIR, PERTURBED
from small_files import chain

from asterism.differential.adapters.backends import OF_ONNX
from asterism.differential.comparing.answers import answers_in_words
from asterism.differential.comparing.judging import tolerance_of
from asterism.differential.comparing.upgrade import Pair, change_of
from asterism.differential.comparing.versions import pairs_of
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.tasks import GivenFile, Result, Task
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.oracle.standard import Standard
from asterism.differential.subjects.onnx_file import subject_of
from asterism.differential.subjects.operators import operator_subjects

PARAMS = JudgeParams(ulps=64, conditioning=8)
RIGHT = np.linspace(-1, 1, 8).reshape(2, 4)
WRONG, TINY = RIGHT + 0.01, RIGHT + 1e-7


def result(old, new, reference=RIGHT):
    """Outputs by backend; a text is what a backend failed with."""
    given = {PAIR.old: old, PAIR.new: new, OF_ONNX.right: reference, PERTURBED: reference}
    outcomes, outputs = {}, {}
    for backend, value in given.items():
        if isinstance(value, str):
            outcomes[backend] = ExecutionOutcome(0, backend, "run", "error", "Broken", value)
        elif value is not None:
            outcomes[backend] = ExecutionOutcome(0, backend, "run", "ok")
            kind = np.float64 if "float64" in backend or "perturbed" in backend else np.float32
            outputs[backend] = {"normal": [value.astype(kind)]}
    return Result(0, ("normal",), outcomes, outputs)


@pytest.mark.parametrize(
    ("old", "new", "reference", "kind"),
    [
        (RIGHT, RIGHT, RIGHT, "same"),
        (RIGHT, TINY, RIGHT, "within rounding"),
        (RIGHT, WRONG, RIGHT, "now wrong"),
        (WRONG, RIGHT, RIGHT, "now right"),
        (WRONG, WRONG + 1, RIGHT, "both wrong"),
        (WRONG, WRONG, RIGHT, "both off alike"),
        (WRONG, WRONG + 1e-7, RIGHT, "both off alike"),
        (RIGHT, "no", RIGHT, "no longer runs"),
        ("no", RIGHT, RIGHT, "now runs"),
        (RIGHT * 0, "no", RIGHT, "silently wrong"),
        ("no", RIGHT * 0, RIGHT, "silently wrong"),
        ("no", "neither", RIGHT, "neither runs"),
        (RIGHT, WRONG, None, "differs"),
        (RIGHT, TINY, None, "within rounding"),
        (RIGHT, RIGHT, None, "same"),
        (RIGHT, np.where(RIGHT > 0.9, np.nan, RIGHT), RIGHT, "now wrong"),
        (RIGHT[:1], RIGHT, RIGHT, "now right"),
    ],
)
def test_kinds_of_change(old, new, reference, kind):
    subject = subject_of("m", chain("Relu"), 4, {})
    change = change_of(subject, result(old, new, reference), PAIR, "normal", PARAMS)
    assert change.kind == kind
    assert bool(change.said) == (isinstance(old, str) or isinstance(new, str))
    worse = kind in ("no longer runs", "now wrong") or (
        kind == "silently wrong" and isinstance(old, str)
    )
    assert change.culprit == (PAIR.new if worse else PAIR.old)


def test_both_answers_are_told_where_nothing_decides():
    subject = subject_of("m", chain("Relu"), 4, {})
    change = change_of(subject, result(RIGHT, np.zeros((2, 4)), None), PAIR, "normal", PARAMS)
    assert change.kind == "differs"
    assert change.answers == ("output 0 at [0, 0]: -1", "output 0 at [0, 0]: 0 everywhere")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([[[1.0, 2]], [[1.0, 5]]], ["output 0 at [1]: 2", "output 0 at [1]: 5"]),
        ([[[1.0, np.nan]], [[9.0, 5]]], ["output 0 at [1]: nan", "output 0 at [1]: 5"]),
        ([[[1.0]], [[1.0, 5]]], ["output 0 of shape [1]", "output 0 of shape [2]"]),
        ([[[1.0]], [[1.0], [2.0]]], ["1 outputs", "2 outputs"]),
        ([[[]], [[]]], ["", ""]),
    ],
)
def test_answers_in_words(given, words):
    arrays = [[np.array(output) for output in outputs] for outputs in given]
    assert answers_in_words(arrays) == words


def test_a_shape_is_infinitely_far():
    subject = subject_of("m", chain("Relu"), 4, {})
    change = change_of(subject, result(RIGHT[:1], RIGHT), PAIR, "normal", PARAMS)
    assert change.apart == float("inf") and change.old.symptom == "wrong shape"


LEVELS = ["file", "file_basic", "file_extended", "file_layout", "file_optimised"]


def test_another_library_may_have_one_way_only():
    assert list(pairs_of("onnxruntime", "openvino")) == [
        Pair(f"onnxruntime:{level}", "openvino:file") for level in LEVELS
    ]
    assert list(pairs_of("openvino", "onnxruntime"))[-1] == Pair(
        "openvino:file", "onnxruntime:file_optimised"
    )


def test_every_way_to_run_a_file_is_compared():
    pairs = pairs_of("onnxruntime@0.1", "onnxruntime")
    assert [pair.option for pair in pairs] == LEVELS


def test_truth_values_are_compared():
    """Also with what rounding moves, which is subtracted."""
    right = [RIGHT > 0]
    bounds = tolerance_of(subject_of("m", chain("Relu"), 4, {}), PARAMS)
    standard = Standard({"right": right}, ["bool"], bounds, right, {"float32": [right]})
    assert standard.off(right) is None
    assert standard.off([RIGHT > 0.5]).kind == "values differ"
    assert standard.off([RIGHT.astype(np.float32)]).kind == "wrong dtype"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("LpPool kernel_shape=3,3 strides=1,1 ceil_mode=0 p=1", "now wrong"),
        ("LpPool kernel_shape=3,3 strides=1,1 ceil_mode=1 p=1", "differs"),
        ("RNN direction=forward hidden_size=4", "now wrong"),
        ("RNN direction=forward hidden_size=4 clip=0.5", "differs"),
    ],
)
def test_no_version_is_blamed_by_attributes_that_the_reference_passes_over(name, kind):
    (subject,) = (s for s in operator_subjects() if s.name == name)
    told = result(RIGHT, WRONG)
    for outputs in told.outputs.values():
        outputs["normal"] *= len(subject.outputs)
    assert change_of(subject, told, PAIR, "normal", PARAMS).kind == kind


def test_the_batch_is_that_of_an_input_that_has_one():
    def batch(*arrays):
        return Task(0, GivenFile(b""), {"normal": list(arrays)}).batch

    assert batch(np.float32(1), np.zeros((3, 2))) == 3
    assert batch(np.array(1)) is None and batch() is None
