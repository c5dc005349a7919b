"""What each library is said to do with a model, by outcomes and outputs that are made up."""

import numpy as np
import pytest
from made_up_pool import pool
from onnx import TensorProto
from small_files import chain, onnx_model

from asterism.differential.adapters.backends import OF_ONNX
from asterism.differential.adapters.reference import ReferenceRuns
from asterism.differential.comparing.judging import judge_of_file, within_type
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.tasks import Result
from asterism.differential.oracle.finding import FAULTS, Finding
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.subjects.onnx_file import Subject, subject_of

FILE = OF_ONNX.right
PARAMS = JudgeParams(ulps=64, conditioning=8)
ORT, FAST, OV, OV16 = (
    "onnxruntime:file",
    "onnxruntime:file_optimised",
    "openvino:file",
    "openvino:file_f16",
)
TORCH = "onnx2torch:file"
DIFFER = "values differ"
RIGHT = np.array([[1.0, 2, 3, 4]])


def findings(given, model=None, **said):
    """Finding by backend: each gave a number in place of 1, or a status."""
    outcomes, outputs = {}, {}
    for backend, value in given.items():
        status = value if isinstance(value, str) else "ok"
        kind = "A.B" if status not in ("ok", "unsupported") else ""
        warned = said.get(backend.replace(":", "_"), "")
        outcomes[backend] = ExecutionOutcome(0, backend, "run", status, kind, warned=warned)
        if status == "ok":
            array = RIGHT.copy()
            array[0, 0] = value
            double = backend == FILE
            outputs[backend] = {"normal": [array if double else array.astype(np.float32)]}
    subject = subject_of("m", model or chain("Neg"), 4, {})
    result = Result(0, ("normal",), outcomes, outputs)
    found = judge_of_file(subject, result, "normal", PARAMS).findings()
    assert [one.backends for one in found] == [(b,) for b in given if b != FILE]
    return {one.backends[0]: one for one in found}


def kinds(given, **more):
    return [one.symptom for one in findings(given, **more).values()]


def test_one_that_is_off_while_another_library_is_not_is_wrong():
    found = findings({FILE: 1, ORT: 1, FAST: 1, OV: 5, OV16: 1.003})
    assert [f.symptom for f in found.values()] == ["right", "right", DIFFER, "right"]
    assert found[OV].agreeing == (ORT, FAST)
    assert (
        found[OV].symptom in FAULTS and found[OV].excess > 1000 and found[ORT].symptom not in FAULTS
    )


def test_another_library_is_a_better_partner_than_another_way_of_the_same_one():
    found = findings({FILE: 1, ORT: 1, FAST: 5, OV: 1})
    assert found[FAST].symptom == DIFFER and found[FAST].agreeing[0] == OV
    found = findings({FILE: 1, ORT: 1, FAST: 5})
    assert found[FAST].symptom == DIFFER and found[FAST].agreeing == (ORT,)


def test_coarse_numbers_show_nothing_about_fine_ones():
    assert kinds({FILE: 1, ORT: 5, OV16: 1}) == ["unresolved", "right"]
    assert kinds({FILE: 1, ORT: 5, OV: 5}) == ["unresolved"] * 2


def test_what_does_not_run():
    found = findings({FILE: 1, ORT: 1, OV: "error", TORCH: "unsupported", FAST: "crash"})
    assert [f.symptom for f in found.values()] == ["right", "error", "unsupported", "crash"]
    assert found[OV].agreeing[0] == ORT and found[OV].said == "error: A.B"
    (only,) = findings({FILE: 1, ORT: "error"}).values()
    assert only.symptom == "error" and only.agreeing == (FILE,)
    assert kinds({FILE: "error", ORT: "error", OV: "hang"}) == [
        "invalid inputs",
        "hang",  # a process that had to be ended is a fault, whatever the others do
    ]


def test_what_one_library_alone_runs_is_not_said_to_be_right():
    assert kinds({FILE: "unsupported", ORT: 1, FAST: 1, OV: "unsupported"}) == [
        *["unchecked"] * 2,
        "unsupported",
    ]
    assert kinds({FILE: "unsupported", ORT: "error", OV: "error"}) == ["nothing runs it"] * 2


def test_a_warning_is_a_stated_limit():
    found = findings({FILE: 1, ORT: 1, TORCH: 5}, onnx2torch_file="results might differ")
    assert found[TORCH].symptom == "stated limit" and "might differ" in found[TORCH].said


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({ORT: 1, FAST: 1, OV: 1, TORCH: 1}, ["right"] * 4),
        ({ORT: 1, FAST: 1, OV: 1, TORCH: 5}, ["right"] * 3 + [DIFFER]),
        ({ORT: 1, FAST: 5, OV: 1, TORCH: 1}, ["right", DIFFER, "right", "right"]),
        ({ORT: 1, TORCH: 5}, ["unresolved"] * 2),
        ({ORT: 1, OV: 5, TORCH: 9}, ["unresolved"] * 3),
        ({ORT: 1, FAST: 5}, ["unresolved"] * 2),
    ],
)
def test_without_a_reference_most_libraries_say_what_is_right(given, expected):
    assert kinds({FILE: "error", **given}) == expected
    # The reference passes over this attribute.
    pooled = {"ceil_mode": 1, "kernel_shape": [1, 1]}
    model = onnx_model([("LpPool", ["x"], ["y"], pooled)], [("x", (1, 1, 2, 2))], ["y"], opset=18)
    assert kinds({FILE: 7, **given}, model=model) == expected


def test_the_odd_one_is_the_culprit_where_there_is_no_reference():
    found = findings({FILE: "error", ORT: 1, OV: 1, TORCH: 5})
    assert found[TORCH].agreeing == (ORT, OV)


def test_a_reference_alone_with_its_own_library_says_nothing(monkeypatch):
    """PyTorch's float64 may have the fault of its float32; the libraries beside it agree."""
    monkeypatch.setattr(Subject, "references", ReferenceRuns("onnx_reference", kin="onnxruntime"))
    assert kinds({FILE: 1, ORT: 1, OV: 5, TORCH: 5, OV16: 5}) == ["unresolved"] * 4
    assert kinds({FILE: 1, ORT: 1, OV: 5, TORCH: 7}) == ["right", DIFFER, DIFFER]
    assert kinds({FILE: 1, ORT: 1, OV: 5, TORCH: 1}) == ["right", DIFFER, "right"]
    assert kinds({FILE: 1, ORT: 1, OV: 5}) == ["right", DIFFER]


def test_what_the_reference_rejects_too_is_the_questions_fault():
    """Contradictory sizes: most libraries and the reference say so; one takes them all the same."""
    found = findings({FILE: "error", ORT: "error", TORCH: "error", OV: 1})
    assert found[ORT].symptom == "invalid inputs" and found[ORT].symptom not in FAULTS
    most = kinds({FILE: "error", ORT: "error", OV: 1, TORCH: 1})
    assert most == ["error", "right", "right"]  # the reference may have a fault of its own


def test_who_overflows_in_the_type_that_a_file_names_is_not_to_blame():
    """1000 squared is beyond half precision; computed in float32 it is not."""
    half = TensorProto.FLOAT16
    model = onnx_model([("Mul", ["x", "x"], ["y"], {})], [("x", (1, 4), half)], ["y"])
    model.graph.output[0].type.tensor_type.elem_type = half
    subject = subject_of("m", model, 4, {})
    infinite = Finding(0, "NaN/Inf mask differs", "run", "onnx2torch", (TORCH,), ("normal",))
    for size, symptom in ((1000.0, "beyond its type"), (10.0, infinite.symptom)):
        inputs = {"normal": [np.full((1, 4), size, np.float16)]}
        (found,) = within_type(pool(), subject, inputs, [infinite])
        assert found.symptom == symptom and (found.symptom in FAULTS) == (
            symptom == infinite.symptom
        )
        assert ("Mul node0 makes 1e+06" in found.message) == (size == 1000.0)


def test_a_worker_that_does_not_start_any_more_is_a_failure():
    found = findings({FILE: 1, ORT: 1, OV: "blocked"})
    assert (found[OV].symptom, found[OV].agreeing) == ("error", (ORT, FILE))
