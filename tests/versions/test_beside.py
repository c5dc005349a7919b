"""What each library is said to do with a model, by outcomes and outputs that are made up."""

import numpy as np
import pytest
from made_up_pool import pool
from onnx import TensorProto
from small_files import chain, onnx_model

from asterism.libraries.adapters.backends import OF_ONNX, FileReferences
from asterism.libraries.judging.compare import Difference
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.running.outcomes import ExecutionOutcome
from asterism.libraries.running.tasks import Result
from asterism.versions.beside import Deed, Verdict, deeds_of
from asterism.versions.beyond_type import within_type
from asterism.versions.comparing import Change, Pair
from asterism.versions.subjects import Subject, subject_of

FILE = OF_ONNX.right
PARAMS = JudgeParams(ulps=64, conditioning=8)
ORT, FAST, OV, OV16 = (
    "onnxruntime:file",
    "onnxruntime:file_optimised",
    "openvino:file",
    "openvino:file_f16",
)
TORCH = "onnx2torch:file"
INFINITE = Difference("NaN/Inf mask differs", 0, 4.0)
RIGHT = np.array([[1.0, 2, 3, 4]])


def deeds(given, model=None, **said):
    """Kind and partner by backend: each gave a number in place of 1, or a status."""
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
    found = deeds_of(subject, result, PARAMS)
    assert [deed.backend for deed in found] == [b for b in given if b != FILE]
    return {deed.backend: deed for deed in found}


def kinds(given, **more):
    return [deed.kind for deed in deeds(given, **more).values()]


def test_one_that_is_off_while_another_library_is_not_is_wrong():
    found = deeds({FILE: 1, ORT: 1, FAST: 1, OV: 5, OV16: 1.003})
    assert [d.kind for d in found.values()] == ["right", "right", "wrong", "right"]
    change = found[OV].change
    assert (change.pair.old, change.culprit, change.kind) == (ORT, OV, "now wrong")
    assert found[OV].is_fault and found[OV].excess > 1000 and not found[ORT].is_fault


def test_another_library_is_a_better_partner_than_another_way_of_the_same_one():
    found = deeds({FILE: 1, ORT: 1, FAST: 5, OV: 1})
    assert found[FAST].kind == "wrong" and found[FAST].change.pair.old == OV
    found = deeds({FILE: 1, ORT: 1, FAST: 5})
    assert found[FAST].kind == "wrong" and found[FAST].change.pair.old == ORT


def test_coarse_numbers_show_nothing_about_fine_ones():
    assert kinds({FILE: 1, ORT: 5, OV16: 1}) == ["unresolved", "right"]
    assert kinds({FILE: 1, ORT: 5, OV: 5}) == ["unresolved"] * 2


def test_what_does_not_run():
    found = deeds({FILE: 1, ORT: 1, OV: "error", TORCH: "unsupported", FAST: "crash"})
    assert [d.kind for d in found.values()] == ["right", "fails", "not supported", "fails"]
    assert found[OV].change.culprit == OV and found[OV].said == "error: A.B"
    assert found[OV].excess == float("inf")
    (only,) = deeds({FILE: 1, ORT: "error"}).values()
    assert only.kind == "fails" and only.change.pair.old == FILE
    assert kinds({FILE: "error", ORT: "error", OV: "hang"}) == [
        "invalid question",
        "fails",  # a process that had to be ended is a fault, whatever the others do
    ]


def test_what_one_library_alone_runs_is_not_said_to_be_right():
    assert kinds({FILE: "unsupported", ORT: 1, FAST: 1, OV: "unsupported"}) == [
        *["unchecked"] * 2,
        "not supported",
    ]
    assert kinds({FILE: "unsupported", ORT: "error", OV: "error"}) == ["nothing runs it"] * 2


def test_a_warning_is_a_stated_limit():
    found = deeds({FILE: 1, ORT: 1, TORCH: 5}, onnx2torch_file="results might differ")
    assert found[TORCH].kind == "stated limit" and "might differ" in found[TORCH].said


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({ORT: 1, FAST: 1, OV: 1, TORCH: 1}, ["right"] * 4),
        ({ORT: 1, FAST: 1, OV: 1, TORCH: 5}, ["right"] * 3 + ["differs"]),
        ({ORT: 1, FAST: 5, OV: 1, TORCH: 1}, ["right", "differs", "right", "right"]),
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
    found = deeds({FILE: "error", ORT: 1, OV: 1, TORCH: 5})
    assert found[TORCH].change.culprit == TORCH and found[TORCH].change.referee == ORT


def test_a_reference_alone_with_its_own_library_says_nothing(monkeypatch):
    """PyTorch's float64 may have the fault of its float32; the libraries beside it agree."""
    monkeypatch.setattr(Subject, "references", FileReferences("onnx_reference", kin="onnxruntime"))
    assert kinds({FILE: 1, ORT: 1, OV: 5, TORCH: 5, OV16: 5}) == ["unresolved"] * 4
    assert kinds({FILE: 1, ORT: 1, OV: 5, TORCH: 7}) == ["right", "wrong", "wrong"]
    assert kinds({FILE: 1, ORT: 1, OV: 5, TORCH: 1}) == ["right", "wrong", "right"]
    assert kinds({FILE: 1, ORT: 1, OV: 5}) == ["right", "wrong"]


def test_what_the_reference_rejects_too_is_the_questions_fault():
    """Contradictory sizes: most libraries and the reference say so; one takes them all the same."""
    found = deeds({FILE: "error", ORT: "error", TORCH: "error", OV: 1})
    assert found[ORT].kind == "invalid question" and not found[ORT].is_fault
    most = kinds({FILE: "error", ORT: "error", OV: 1, TORCH: 1})
    assert most == ["fails", "right", "right"]  # the reference may have a fault of its own


def test_who_overflows_in_the_type_that_a_file_names_is_not_to_blame():
    """1000 squared is beyond half precision; computed in float32 it is not."""
    half = TensorProto.FLOAT16
    model = onnx_model([("Mul", ["x", "x"], ["y"], {})], [("x", (1, 4), half)], ["y"])
    model.graph.output[0].type.tensor_type.elem_type = half
    subject = subject_of("m", model, 4, {})
    for size, kind in ((1000.0, "beyond its type"), (10.0, "wrong")):
        change = Change("m", Pair(ORT, TORCH), "normal", "now wrong", new=INFINITE)
        deed = Deed(TORCH, "normal", "wrong", change)
        inputs = {"normal": [np.full((1, 4), size, np.float16)]}
        (found,) = within_type(pool(), subject, inputs, Verdict([deed])).deeds
        assert found.kind == kind and found.is_fault == (kind == "wrong")
    assert (
        "Mul node0 makes 1e+06"
        in within_type(
            pool(), subject, {"normal": [np.full((1, 4), 1000, np.float16)]}, Verdict([deed])
        )
        .deeds[0]
        .said
    )
