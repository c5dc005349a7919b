"""What libraries and versions did to outputs, and what they are said to do."""

import numpy as np
import pytest
from made_up_changes import made_change
from made_up_pool import PAIR, PERTURBED, pool
from onnx import TensorProto, helper
from small_files import chain, onnx_model

from asterism.comparing.cases import (
    UpgradePair,
    are_bitwise_equal,
    judge_upgrade,
    largest_gap,
)
from asterism.comparing.commands import find_upgrade_pairs
from asterism.comparing.judging import (
    describe_answers,
    drop_type_findings,
    judge_of_file,
    run_subject,
)
from asterism.differential.adapters.backend_names import OF_ONNX
from asterism.differential.engine.tasks import ExecutionOutcome, Result
from asterism.differential.oracle.finding import FAULTS
from asterism.differential.oracle.standard import ReferenceOutputs
from asterism.differential.reference.runs import ReferenceRuns
from asterism.differential.subjects.onnx_file import InputSpec, OnnxModelFile, make_subject
from asterism.differential.subjects.operators import OnnxOperator
from libraries.small_results import JUDGE, made_finding, made_result
from tried_operators import tried_operators

X = np.array([[1, 2, 3, 4], [-1, -2, -3, -4]], np.float32)
F16 = TensorProto.FLOAT16


def bounds_of(subject):
    return JUDGE.tolerance(subject.epsilon, subject.depth)


@pytest.mark.parametrize(
    ("old", "new", "apart"),
    [
        ([[1.0, 2.0]], [[1.0, 2.0]], 0.0),
        ([[1.0, 2.0]], [[1.25, 1.5]], 0.5),
        ([[1.0], [5.0]], [[1.5], [2.0]], 3.0),
        ([[1.0, np.nan, np.inf]], [[1.5, 7.0, 3.0]], 0.5),
        ([[np.nan]], [[1.0]], 0.0),
        ([[1.0]], [[1.0, 2.0]], float("inf")),
        ([[]], [[]], 0.0),
        (np.uint8([[0]]), np.uint8([[255]]), 255.0),
        (np.array([[True]]), np.array([[False]]), 1.0),
    ],
)
def test_how_far_outputs_are_apart(old, new, apart):
    assert largest_gap([*map(np.asarray, old)], [*map(np.asarray, new)]) == apart


def test_the_same_is_every_bit():
    zero, below = np.float32([0.0]), np.float32([-0.0])
    assert are_bitwise_equal([zero], [zero.copy()])
    assert not are_bitwise_equal([zero], [below]) and not are_bitwise_equal([zero], [zero, zero])
    assert not are_bitwise_equal([zero], [zero.reshape(1, 1)])
    assert not are_bitwise_equal([zero], [zero.view(np.int32)])


def test_a_pair_names_its_way():
    assert PAIR.option == "file"
    other = UpgradePair("onnxruntime:file_optimised", "openvino:file")
    assert other.option == "file_optimised and file"
    assert made_change("both wrong").culprit == PAIR.old


def test_workers_that_are_left_are_asked_with_the_references():
    subject, workers = make_subject("m", chain("Neg"), 4, {}), pool()
    result = run_subject(workers, subject, {"normal": [X]}, [PAIR.new])
    (task,) = workers.done
    assert task.backends == (PAIR.new, OF_ONNX.right, PERTURBED)
    assert task.graph.content == subject.content and task.inputs["normal"][0] is X
    np.testing.assert_array_equal(result.outputs[PAIR.new]["normal"][0], -X)
    workers.usable().remove(PERTURBED)
    run_subject(workers, subject, {"normal": [X]}, [PAIR.old, "gone:file"])
    assert workers.done[1].backends == (PAIR.old, OF_ONNX.right)


@pytest.mark.parametrize("where", ["input", "output", "constant"])
def test_half_precision_anywhere_is_the_coarsest(where):
    model = onnx_model([("Mul", ["x", "w"], ["y"], {})], [("x", ("n", 4))], ["y"], {"w": X[:1]})
    subject = make_subject("m", model, 4, {})
    single = bounds_of(subject)
    if where == "constant":
        model.graph.initializer[0].data_type = F16
    else:
        getattr(model.graph, where)[0].type.tensor_type.elem_type = F16
    half = bounds_of(subject)
    assert (single.ulps, single.conditioning, single.depth) == (64, 8, 1)
    assert single.epsilon == np.finfo(np.float32).eps
    assert half.epsilon == np.finfo(np.float16).eps


def test_depths():
    nodes = [
        ("Neg", ["x"], ["a"], {}),
        ("Neg", ["a"], ["b"], {}),
        ("Add", ["x", "b"], ["c"], {}),
        ("Neg", ["x"], ["d"], {}),
    ]
    assert make_subject("m", onnx_model(nodes, [("x", (1,))], ["c", "d"]), 4, {}).depth == 3
    assert make_subject("m", onnx_model([], [("x", (1,))], ["x"]), 4, {}).depth == 1


def test_declared_types_go_before_those_that_came():
    subject = make_subject("m", chain("Neg"), 4, {})
    result = Result(0, outputs={OF_ONNX.right: {"normal": [X.astype(np.float64)]}})
    judge = judge_of_file(subject, result, "normal", JUDGE)
    assert judge.standard.off([X.astype(np.float64)]).kind == "wrong dtype"
    subject.model.graph.output[0].type.tensor_type.elem_type = 0
    judge = judge_of_file(subject, result, "normal", JUDGE)
    assert judge.standard.off([X.astype(np.float64)]) is None


def test_drawn_values_have_the_inputs_types():
    specs = (
        InputSpec("b", (50,), "bool"),
        InputSpec("i", (90,), "int32", 3),
        InputSpec("w", (400,), "float64"),
    )
    truths, numbers, wide = OnnxModelFile("m", chain("Neg"), specs).draw(1, "wide")
    assert truths.dtype == bool and 0 < truths.sum() < 50
    assert numbers.dtype == np.int32 and set(numbers.tolist()) == {0, 1, 2}
    assert wide.dtype == np.float64 and wide.min() < -9 and wide.max() > 9
    assert np.abs(wide).max() <= 10


def test_a_vector_holds_one_special_number():
    (drawn,) = OnnxModelFile("m", chain("Neg"), (InputSpec("x", (9,), "float32"),)).draw(1, "nan")
    assert np.isnan(drawn).sum() == 1


def test_an_operator_in_every_combination():
    weights = (None, (2, 3), np.array([1, 2], np.int64))
    made = dict(
        OnnxOperator("Op", ((2, 3), (3,)), {"a": (None, 1), "b": ([1, 2],)}, weights, 2).models()
    )
    assert list(made) == ["Op 2x3 3 b=1,2 1,2", "Op 2x3 3 a=1 b=1,2 1,2"]
    model = made["Op 2x3 3 a=1 b=1,2 1,2"]
    (node,) = model.graph.node
    assert list(node.input) == ["x0", "x1", "", "c1", "c2"] and list(node.output) == ["y0", "y1"]
    assert node.name == "op" and {a.name for a in node.attribute} == {"a", "b"}
    assert [c.name for c in model.graph.initializer] == ["c1", "c2"]
    assert all(helper.printable_value_info(v) for v in model.graph.input)
    assert model.ir_version == 8 and model.opset_import[0].version == 18


RIGHT = np.linspace(-1, 1, 8).reshape(2, 4)
WRONG, TINY = RIGHT + 0.01, RIGHT + 1e-7


def result(old, new, reference=RIGHT):
    """Outputs by backend; a text is what a backend failed with."""
    given = {}
    for backend, value in ((PAIR.old, old), (PAIR.new, new)):
        failed = ExecutionOutcome(0, backend, "run", "error", "Broken", str(value))
        given[backend] = failed if isinstance(value, str) else [value.astype(np.float32)]
    if reference is not None:
        given |= {OF_ONNX.right: [reference], PERTURBED: [reference]}
    return made_result(given)


def change_to(*given):
    subject = make_subject("m", chain("Relu"), 4, {})
    return judge_upgrade(subject, result(*given), PAIR, "normal", JUDGE)


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
    change = change_to(old, new, reference)
    assert change.kind == kind
    assert bool(change.said) == (isinstance(old, str) or isinstance(new, str))
    worse = kind in ("no longer runs", "now wrong") or (
        kind == "silently wrong" and isinstance(old, str)
    )
    assert change.culprit == (PAIR.new if worse else PAIR.old)


def test_both_answers_are_told_where_nothing_decides():
    change = change_to(RIGHT, np.zeros((2, 4)), None)
    assert change.kind == "differs"
    assert change.answers == (
        ((PAIR.old,), "output 0 at [0, 0]: -1"),
        ((PAIR.new,), "output 0 at [0, 0]: 0 everywhere"),
    )


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
    assert describe_answers(arrays) == words


LEVELS = ["file", "file_basic", "file_extended", "file_layout", "file_optimised"]


def test_every_way_to_run_a_file_is_compared_and_another_library_may_have_one_only():
    assert [pair.option for pair in find_upgrade_pairs("onnxruntime@0.1", "onnxruntime")] == LEVELS
    assert list(find_upgrade_pairs("onnxruntime", "openvino")) == [
        UpgradePair(f"onnxruntime:{level}", "openvino:file") for level in LEVELS
    ]
    assert list(find_upgrade_pairs("openvino", "onnxruntime"))[-1] == UpgradePair(
        "openvino:file", "onnxruntime:file_optimised"
    )


def test_truth_values_are_compared():
    """Also with what rounding moves, which is subtracted."""
    right = [RIGHT > 0]
    bounds = bounds_of(make_subject("m", chain("Relu"), 4, {}))
    standard = ReferenceOutputs({"right": right}, ["bool"], bounds, right, {"float32": [right]})
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
    (subject,) = (s for s in tried_operators() if s.name == name)
    told = result(RIGHT, WRONG)
    for outputs in told.outputs.values():
        outputs["normal"] *= len(subject.outputs)
    assert judge_upgrade(subject, told, PAIR, "normal", JUDGE).kind == kind


FILE = OF_ONNX.right
ORT, FAST, OV, OV16 = (
    "onnxruntime:file",
    "onnxruntime:file_optimised",
    "openvino:file",
    "openvino:file_f16",
)
TORCH = "onnx2torch:file"
DIFFER = "values differ"


def findings(given, model=None, warned=None):
    """Finding by backend: each gave a number in place of 1, or a status."""
    answers = {}
    for backend, value in given.items():
        if isinstance(value, str):
            kind = "" if value == "unsupported" else "A.B"
            answers[backend] = ExecutionOutcome(0, backend, "run", value, kind)
        else:
            array = np.array([[value, 2.0, 3, 4]])
            answers[backend] = [array if backend == FILE else array.astype(np.float32)]
    subject = make_subject("m", model or chain("Neg"), 4, {})
    result = made_result(answers, warned=warned)
    found = judge_of_file(subject, result, "normal", JUDGE).findings()
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
    found = findings({FILE: 1, ORT: 1, TORCH: 5}, warned={TORCH: "results might differ"})
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
    monkeypatch.setattr(
        OnnxModelFile, "references", ReferenceRuns("onnx_reference", kin="onnxruntime")
    )
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
    subject = make_subject("m", model, 4, {})
    infinite = made_finding("NaN/Inf mask differs", TORCH)
    for size, symptom in ((1000.0, "beyond its type"), (10.0, infinite.symptom)):
        inputs = {"normal": [np.full((1, 4), size, np.float16)]}
        (found,) = drop_type_findings(pool(), subject, inputs, [infinite])
        assert found.symptom == symptom and (found.symptom in FAULTS) == (
            symptom == infinite.symptom
        )
        assert ("Mul node0 makes 1e+06" in found.message) == (size == 1000.0)


def test_a_worker_that_does_not_start_any_more_is_a_failure():
    found = findings({FILE: 1, ORT: 1, OV: "blocked"})
    assert (found[OV].symptom, found[OV].agreeing) == ("error", (ORT, FILE))
