"""The oracle on results that are made up: who is blamed, and when nobody is."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from asterism.core.files.records import record_from
from asterism.differential.adapters.backend_names import FLOAT64, OF_GRAPHS, REFERENCES
from asterism.differential.engine.messages import (
    find_abort_message,
    is_unsupported,
    strip_volatile_parts,
)
from asterism.differential.engine.tasks import ExecutionOutcome
from asterism.differential.oracle.finding import (
    EarlierModel,
    Finding,
    defect_signature,
    message_skeleton,
)
from asterism.differential.oracle.oracle import REMEMBERED, Histories
from asterism.differential.oracle.standard import ReferenceOutputs, d_mad, spreads_of
from asterism.differential.oracle.unsupported import find_named_layers, unsupported_table
from asterism.differential.params import Tolerance
from asterism.memo.graphs.graph import WeightEdit
from asterism.memo.universe.tensors import EPSILON
from libraries.small_results import chained, made_finding, made_result, verdict_on
from memo.small_graphs import branching, convolutional, layer, recurrent

GRAPH = branching()
RIGHT = np.linspace(-2, 2, 8).reshape(2, 4)
BACKENDS = (
    *("tensorflow:eager", "pytorch:eager", "jax:jit"),
    *("onnxruntime:tf2onnx", "onnxruntime:keras_onnx", "openvino:tf2onnx"),
)
DISTRIBUTIONS = ("normal", "wide")
UNSUPPORTED = ("unsupported", "NotImplementedError")


def result(wrong=None, failed=None, distribution="normal"):
    """All backends give the right output, but for those that are named."""
    given = {}
    for backend in (*BACKENDS, *FLOAT64):
        output = RIGHT if backend in FLOAT64 else RIGHT.astype(np.float32)
        perturbed = backend in chain(*OF_GRAPHS.perturbed.values())
        shares = OF_GRAPHS.right if perturbed else backend  # a library's own fault
        output = (wrong or {}).get(backend, (wrong or {}).get(shares, output))
        given[backend] = (failed or {}).get(backend, [output])
    return made_result(given, distribution)


def findings(**changes):
    return verdict_on(GRAPH, result(**changes)).findings


def ended(status, exception="", message="", *, backend="jax:jit", stage="run", frame=""):
    """How a backend ended that did not give the right output."""
    return ExecutionOutcome(0, backend, stage, status, exception, message, frame)


def each(backends, *how, **more):
    """Backends that all ended in one way."""
    return {backend: ended(*how, backend=backend, **more) for backend in backends}


def test_agreement_is_no_finding():
    verdict = verdict_on(GRAPH, result())
    assert verdict.findings == [] and verdict.agreed == len(BACKENDS) and verdict.unresolved == 0


def test_the_odd_one_out_is_named():
    off = (RIGHT * 1.001).astype(np.float32)
    (found,) = findings(wrong={"jax:jit": off})
    assert (found.symptom, found.library, found.backends) == ("values differ", "jax", ("jax:jit",))
    assert found.severity == "normal" and "tensorflow:eager" in found.agreeing
    assert found.excess > 1


def test_the_spread_is_how_far_rounding_moves_a_finite_element_at_most():
    reference = [np.array([[1.0, -2.0], [np.inf, 0.0]]), np.zeros((0, 3)), np.full(2, np.nan)]
    moved = [np.array([[1.5, -2.75], [np.inf, np.nan]]), np.zeros((0, 3)), np.ones(2)]
    float32 = Tolerance(64, 8, EPSILON["float32"], 2)
    for one, other in ((reference, moved), (moved, reference)):
        assert spreads_of(one, {"float32": [other]}, float32) == [0.75, 0.0, 0.0]
    for none in ({}, {"float32": []}, {"float32": [[m[:1] for m in moved]]}):
        assert spreads_of(reference, none, float32) == [0.0] * 3, "where nothing was moved alike"


def test_a_jump_that_only_coarse_rounding_crosses_counts_for_the_coarse_dtype():
    reference, smooth, jump = [np.array([-0.5])], [np.array([-0.5001])], [np.array([0.0])]
    moved = {"float32": [smooth], "float16": [reference], "bfloat16": [reference, jump]}
    coarser = EPSILON["bfloat16"] / EPSILON["float32"]
    within = {dtype: Tolerance(64, 8, EPSILON[dtype], 2) for dtype in moved}
    assert spreads_of(reference, moved, within["bfloat16"]) == [pytest.approx(1e-4)]
    moved["float32"] = [reference]
    assert spreads_of(reference, moved, within["bfloat16"]) == [pytest.approx(0.5 / coarser)]
    for dtype in ("float32", "float16"):
        assert spreads_of(reference, moved, within[dtype]) == [0.0]


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("other", [RIGHT + 1, RIGHT[:, :2], np.full((2, 4), np.nan)])
def test_the_odd_reference_is_named_and_blames_nobody(reference, other):
    (found,) = findings(wrong={reference: other})
    assert (found.symptom, found.backends) == ("reference differs", (reference,))
    assert found.agreeing == tuple(r for r in REFERENCES if r != reference)
    assert record_from(Finding, found.to_json()).by_values


def test_a_reference_that_is_outvoted_excuses_no_backend():
    off = RIGHT + 1
    wrong = {"tensorflow:float64": off, "tensorflow:eager": off.astype(np.float32)}
    odd, found = sorted(findings(wrong=wrong), key=lambda f: f.symptom)
    assert (odd.symptom, odd.library) == ("reference differs", "tensorflow")
    assert (found.symptom, found.backends) == ("values differ", ("tensorflow:eager",))


def test_without_a_majority_every_reference_excuses():
    wrong = {r: RIGHT + 3 * at for at, r in enumerate(REFERENCES)}
    wrong["jax:jit"] = (RIGHT + 6).astype(np.float32)
    assert findings(wrong=wrong) == []
    wrong["jax:jit"] = (RIGHT + 7).astype(np.float32)
    assert [f.backends for f in findings(wrong=wrong)] == [("jax:jit",)]


def test_what_a_reference_rounds_to_float32_in_between_is_no_disagreement():
    assert findings(wrong={"jax:float64": RIGHT.astype(np.float32).astype(np.float64)}) == []


@given(st.lists(st.integers(0, 2), min_size=1, max_size=4))
@example([0, 1, 1, 0])  # the independent ones count
def test_a_vote_against_a_slow_twin(answers):
    names = list(REFERENCES[: len(answers)])
    outputs = {n: [RIGHT + a] for n, a in zip(names, answers, strict=True)}
    said = tuple(
        ReferenceOutputs(outputs, (), Tolerance(64, 8, 2.0**-23, 2)).by_majority().references
    )
    counts = {a: answers.count(a) for a in answers}
    if max(counts.values()) < 2:
        assert said == tuple(names)
        return
    most = [a for a in counts if counts[a] == max(counts.values())]
    best = min(most, key=lambda a: (a == answers[-1] and len(answers) == 4, answers.index(a)))
    assert said == tuple(n for n, a in zip(names, answers, strict=True) if a == best)


def test_without_an_agreeing_backend_nothing_is_resolved():
    off = dict.fromkeys(BACKENDS, (RIGHT + 1).astype(np.float32))
    verdict = verdict_on(GRAPH, result(wrong=off))
    assert verdict.findings == [] and verdict.unresolved == len(BACKENDS)


def test_a_converter_is_blamed_when_all_its_readers_are_wrong():
    off = (RIGHT + 1).astype(np.float32)
    both = {"onnxruntime:tf2onnx": off, "openvino:tf2onnx": off}
    (found,) = findings(wrong=both)
    assert found.library == "tf2onnx" and len(found.backends) == 2
    (alone,) = findings(wrong={"openvino:tf2onnx": off})
    assert alone.library == "openvino"


def test_a_converter_is_blamed_where_its_only_reader_is_right_on_another_file():
    off = (RIGHT + 1).astype(np.float32)
    (found,) = findings(wrong={"onnxruntime:keras_onnx": off})
    assert (found.library, found.backends) == ("keras_onnx", ("onnxruntime:keras_onnx",))
    neither = dict.fromkeys(("onnxruntime:keras_onnx", "onnxruntime:tf2onnx"), off)
    (found,) = findings(wrong=neither)
    assert (found.library, found.backends) == ("onnxruntime", tuple(sorted(neither)))


def test_the_difference_is_that_from_the_closest_reference():
    off = (RIGHT + 0.1).astype(np.float32)
    far, masked = RIGHT + 100, np.where(RIGHT > 0, np.nan, RIGHT)
    expected = findings(wrong={"jax:jit": off})[0].excess
    # References have no agreeing backend to lose: the other one is as right.
    for other in (far, masked):
        wrong = {"jax:jit": off, "tensorflow:float64": other}
        (found,) = (f for f in findings(wrong=wrong) if f.symptom != "reference differs")
        assert (found.symptom, found.excess) == ("values differ", pytest.approx(expected))


def test_symptom_excess_and_d_mad_are_of_one_backend():
    nan = RIGHT.astype(np.float32)
    nan[0, 0] = np.nan
    far = (RIGHT * 1000).astype(np.float32)
    (found,) = findings(wrong={"onnxruntime:keras_onnx": far, "onnxruntime:tf2onnx": nan})
    assert (found.symptom, found.excess, found.d_mad) == ("NaN/Inf mask differs", 1, 1)
    assert found.backends == ("onnxruntime:tf2onnx", "onnxruntime:keras_onnx")


def of_two_distributions(normal, wide):
    """A result of both distributions, from wrong outputs by backend in each."""
    both = result()
    for distribution, wrong in (("normal", normal), ("wide", wide)):
        for backend, outputs in result(wrong=wrong, distribution=distribution).outputs.items():
            both.outputs[backend] |= outputs
    return both


def test_of_two_distributions_the_worse_one_says_how_far_off():
    one = RIGHT.copy()
    one[0, 3] += 0.6
    wrong = [{"jax:jit": off.astype(np.float32)} for off in (one, RIGHT + 0.5)]
    worse, other = (
        findings(wrong=w, distribution=d)[0] for w, d in zip(wrong, DISTRIBUTIONS, strict=True)
    )
    assert worse.excess > other.excess and worse.d_mad < other.d_mad, "the metrics disagree"
    (found,) = verdict_on(GRAPH, of_two_distributions(*wrong)).findings
    assert found == replace(worse, distributions=DISTRIBUTIONS)


def test_the_first_backend_and_the_first_distribution_are_those_that_are_farthest_off():
    """A script runs these two alone, and layers are looked at there."""
    near, far = ((RIGHT + off).astype(np.float32) for off in (0.1, 5))
    one, two = "onnxruntime:keras_onnx", "onnxruntime:tf2onnx"
    both = of_two_distributions({one: near, two: near}, {one: near, two: far})
    (found,) = verdict_on(GRAPH, both).findings
    assert (found.backends, found.distributions) == ((two, one), ("wide", "normal"))


def test_a_converter_is_blamed_for_a_file_that_a_library_rejects():
    how = "error", "ort.InvalidGraph", "bad"
    (found,) = findings(failed=each(["onnxruntime:tf2onnx"], *how, stage="compile", frame="f"))
    assert (found.library, found.symptom) == ("tf2onnx", "error")


@pytest.mark.parametrize(
    ("output", "symptom"),
    [
        (np.full((2, 4), np.nan, np.float32), "NaN/Inf mask differs"),
        (RIGHT[:, ::-1].astype(np.float32), "values differ"),
        (-RIGHT.astype(np.float32), "values differ"),
        (RIGHT.T.astype(np.float32), "wrong shape"),
        (RIGHT, "wrong dtype"),
    ],
)
def test_symptoms(output, symptom):
    (found,) = findings(wrong={"pytorch:eager": output})
    assert found.symptom == symptom


def test_failures_and_what_is_unsupported():
    (found,) = findings(failed={"jax:jit": ended("crash", "SIGSEGV", "last lines")})
    assert (found.symptom, found.exception) == ("crash", "SIGSEGV")
    assert findings(failed={"jax:jit": ended(*UNSUPPORTED)}) == []
    everywhere = (*BACKENDS, *FLOAT64)
    (invalid,) = findings(failed=each(everywhere, "error", "ValueError", "no", stage="build"))
    assert invalid.symptom == "invalid model"
    assert is_unsupported("E", "Op 'Loop' is not supported", (r"not supported",))


@pytest.mark.parametrize("status", ["crash", "hang", "memory"])
def test_a_death_needs_no_agreeing_backend(status):
    others = each((*BACKENDS, *FLOAT64), *UNSUPPORTED)
    assert findings(failed=others) == []
    death = ended(status, "SIGSEGV" if status == "crash" else "")
    (found,) = findings(failed={**others, "jax:jit": death})
    assert found.symptom == status
    assert (found.library, found.backends, found.agreeing) == ("jax", ("jax:jit",), ())


def test_a_reference_that_runs_is_an_agreeing_backend_of_failures():
    error = ended("error", "ValueError", "no", frame="keras/a.py:f")
    others = each(BACKENDS, *UNSUPPORTED)
    (found,) = findings(failed={**others, "jax:jit": error})
    assert (found.symptom, found.agreeing) == ("error", REFERENCES)
    assert findings(failed={**others, **each(FLOAT64, *UNSUPPORTED), "jax:jit": error}) == []


def test_a_model_that_every_backend_calls_unsupported_is_invalid():
    keras = (*BACKENDS[:3], *FLOAT64)
    rejected = each(keras, "unsupported", "ValueError", "no", stage="build")
    blocked = each(BACKENDS[3:], "blocked", stage="convert")
    (found,) = findings(failed={**blocked, **rejected})
    assert (found.symptom, found.library, found.backends) == ("invalid model", "keras", keras)
    later = {"jax:jit": ended(*UNSUPPORTED)}
    assert findings(failed={**blocked, **rejected, **later}) == []


def test_special_weights_have_the_severity_of_special_inputs():
    edited = GRAPH.change(1, edits=(WeightEdit("special", 1),))
    crash = ended("crash", "SIGSEGV")
    off = {"pytorch:eager": (RIGHT + 1).astype(np.float32)}
    made = result(failed={"jax:jit": crash}, wrong=off)
    for graph, severity in ((GRAPH, "normal"), (edited, "special")):
        found = verdict_on(graph, made).findings
        assert [f.severity for f in found] == [severity, severity]
    (found,) = verdict_on(GRAPH, result(wrong=off, distribution="nan")).findings
    assert found.severity == "special"


def test_of_a_message_whole_words_are_kept_and_of_a_log_the_last_ones():
    log = " ".join(f"line {i}" for i in range(500))
    begin, end = strip_volatile_parts(log), strip_volatile_parts(log, end=True)
    assert begin.endswith(" …") and log.startswith(begin[:-1])
    assert end.startswith("… ") and log.endswith(end[1:])
    assert 590 < len(begin) < 605 and 590 < len(end) < 605
    assert (
        strip_volatile_parts("a short one")
        == strip_volatile_parts("a short one", end=True)
        == "a short one"
    )


def test_a_message_does_not_say_which_of_two_equal_constants_a_converter_kept():
    loop = (
        'Node, ("functional_1/a_1/while_loop", Loop, "") : ("functional_1/a_1/{}:0": tensor(int32))'
    )
    assert strip_volatile_parts(loop.format("time")) == strip_volatile_parts(
        loop.format("loop_counter")
    )
    assert "Loop" in strip_volatile_parts(loop) and "int32" in strip_volatile_parts(loop)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1.0, -3.0], [1.0, 1.0], (2 - 1) / (2 + 1)),
        ([1.0, 2.0], [-1.0, -2.0], 0.0),  # which a target of zero hides
        ([1.0, -3.0], [], 1.0),
        ([], [1.0, -3.0], 1.0),
        ([], [], 0.0),
        ([0.0], [0.0], 0.0),
        ([np.nan], [np.nan], 0.0),
        ([np.inf], [1.0], 1.0),
        ([np.inf], [np.inf], 0.0),
    ],
)
def test_cradles_metric_compares_mean_distances_from_the_target(first, second, expected):
    one, other = np.float32(first), np.float32(second)
    assert d_mad(one + 7, other + 7, np.float64(7)) == pytest.approx(expected)
    assert d_mad(one, other, np.float64(0)) == pytest.approx(expected)
    assert d_mad(one, other, np.float64(0)) == d_mad(other, one, np.float64(0))


@given(st.floats(0.1, 1e4), st.integers(1, 40))
def test_rounding_passes_and_a_hundredth_does_not(scale, depth):
    rng = np.random.default_rng(0)
    exact = rng.normal(size=(4, 5)) * scale
    tolerance = Tolerance(64, 8, 2.0**-23, depth)
    rounded = exact.astype(np.float32)
    assert ReferenceOutputs({"right": [exact]}, ["float32"], tolerance).off([rounded]) is None
    wrong = rounded.copy()
    wrong[0, 0] += np.float32(0.01 * np.abs(exact).max())
    assert ReferenceOutputs({"right": [exact]}, ["float32"], tolerance).off([wrong]) is not None


@pytest.mark.parametrize(("epsilon", "coarser"), [(2.0**-52, 1), (2.0**-23, 1), (2.0**-10, 8192)])
def test_the_perturbation_was_of_float32_and_counts_for_more_in_coarser_dtypes(epsilon, coarser):
    reference, spread = np.array([3.0, -4.0, np.inf]), 0.01
    mean_square = (9 + 16 + 0) / 3  # what is infinite has no size
    expected = [
        64 * epsilon * 5 * (size + mean_square**0.5) + 8 * spread * coarser for size in (3, 4, 0)
    ]
    found = Tolerance(64, 8, epsilon, 5).of(reference, spread)
    assert found == pytest.approx(expected, rel=1e-12)
    assert Tolerance(64, 8, epsilon, 0).of(np.zeros(1), 0.0) == np.finfo(np.float32).tiny


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("sign", [1, -1])
def test_judged_is_what_is_no_larger_than_a_quarter_of_the_dtypes_largest(dtype, sign):
    quarter = sign * float(np.finfo(dtype).max) / 4
    tolerance = Tolerance(64, 8, float(np.finfo(dtype).eps), 2)
    wrong = {"NaN/Inf mask differs": sign * np.inf, "values differ": quarter / 2}
    for symptom, value in wrong.items():
        output = np.array([value, 1.0], dtype)
        for exact, kind in ((quarter, symptom), (np.nextafter(quarter, sign * np.inf), None)):
            reference = np.array([exact, 1.0])
            found = ReferenceOutputs({"right": [reference]}, [dtype], tolerance).off([output])
            assert (found and found.kind) == kind


def test_signatures_are_stable():
    place = {"exception": "E", "frame": "f:g"}
    one = made_finding("error", message="Node 'a_1' (0x12) failed at 17", **place)
    two = made_finding("error", message="Node 'b' failed at 3", model=9, **place)
    assert defect_signature(one) == defect_signature(two)
    assert message_skeleton("shape [3, 4] of 'abc' is bad") == "shape of is bad"
    assert "0x7f" not in strip_volatile_parts("at 0x7fab12 in /tmp/x/y.py")
    assert "/tmp" not in strip_volatile_parts("/tmp/x/y.py")
    assert record_from(Finding, one.to_json()) == one


def test_a_findings_excess_is_written_with_two_digits_and_finite():
    finding = made_finding(excess=1.23456)
    assert finding.to_json()["excess"] == 1.23
    assert replace(finding, excess=1e40).to_json()["excess"] == 1e30


def ran(model, *backends, died=()):
    return made_result({b: [] for b in backends} | each(died, "crash"), model=model)


def test_each_worker_has_its_own_history_which_ends_with_its_process():
    histories = Histories()
    histories.add(ran(0, "jax:jit", "tensorflow:eager"))
    histories.add(ran(1, "jax:jit", "jax:eager", "tf2onnx", died=("jax:jit",)))
    histories.add(ran(2, "jax:eager"))
    assert histories.before("jax:jit") == (EarlierModel(2, ("normal",)),)
    assert [e.model for e in histories.before("tensorflow:xla")] == [0]
    assert [e.model for e in histories.before("tf2onnx")] == [1]
    assert histories.before("pytorch:eager") == ()
    for model in range(100):
        histories.add(ran(model, "jax:jit"))
    assert [e.model for e in histories.before("jax:jit")] == [*range(100 - REMEMBERED, 100)]


def test_a_blocked_step_asked_nothing_of_its_worker():
    histories = Histories()
    histories.add(made_result({"jax:jit": ended("blocked")}))
    assert histories.before("jax:jit") == ()


RETRACING = "WARNING:tensorflow:5 out of the last 5 calls triggered tf.function retracing."
ABORTS = {
    "2026-11-24 01:24:11.123456: F /root/tensor_shape.cc:587] Check failed: size >= 0": (
        "F tensor_shape.cc:587] Check failed: size >= 0"
    ),
    "F0000 00:00:1732411451.123456   12345 tensor_shape.cc:587] Check failed: 0 < 1": (
        "F tensor_shape.cc:587] Check failed: 0 < 1"
    ),
    "free(): invalid pointer": "free(): invalid pointer",
    "double free or corruption (out)": "double free or corruption (out)",
    "LLVM ERROR: out of luck": "LLVM ERROR: out of luck",
    "python: x.cpp:12: int f(): Assertion `n > 0' failed.": (
        "python: x.cpp:12: int f(): Assertion `n > 0' failed."
    ),
}


@pytest.mark.parametrize(("line", "said"), ABORTS.items())
def test_an_abort_is_told_by_its_own_line(line, said):
    lines = [
        RETRACING,
        "W0000 00:00:1732411451.1 12 a.cc:1] slow",
        line,
        RETRACING,
        "    @ 0x7f12 f",
    ]
    told = strip_volatile_parts("\n".join(find_abort_message(lines)), end=True)
    assert told.startswith(said) and "retracing" not in told and "slow" not in told


def test_all_lines_of_an_exception_that_ends_a_process_are_told():
    lines = ["x", "terminate called after throwing an instance of 'E'", "  what():  no", "Aborted"]
    assert find_abort_message(lines) == lines[1:]


def test_without_such_words_the_latest_lines_stand_but_no_warnings():
    lines = [RETRACING, *(f"line {n}" for n in range(12)), "x.py:3: UserWarning: no", RETRACING]
    assert find_abort_message(lines) == [f"line {n}" for n in range(4, 12)]
    assert find_abort_message([RETRACING]) == []


DENSE = chained((3,), layer("Dense", units=2))
GRAPHS = [recurrent(), recurrent(), DENSE, convolutional()]


def task(model, backend="mxnet@1.9.1:tf2onnx", status="ok", message=""):
    return {
        "index": model,
        "outcomes": [{"backend": backend, "status": status, "message": message}],
    }


def rows(tasks):
    table = unsupported_table(GRAPHS, tasks)
    return [tuple(row) for row in zip(*table.values(), strict=True)]


def test_a_type_is_counted_once_for_each_model_that_holds_it():
    said = "LSTM: KeyError('LSTM'): not supported"
    found = rows(
        [
            task(0, status="unsupported", message=said),
            task(0, status="unsupported", message=said),  # with other inputs
            task(1, status="unsupported", message="TopK: ValueError('k'): not supported"),
            task(2),
            task(3),
        ]
    )
    # Dense is in both models that are unsupported, but it ran in two others: it comes last.
    assert found == [
        ("mxnet@1.9.1:tf2onnx", "LSTM", 2, 0, "LSTM 1, TopK 1"),
        ("mxnet@1.9.1:tf2onnx", "Dense", 2, 2, "LSTM 1, TopK 1"),
    ]


def test_backends_are_counted_apart_and_only_what_is_unsupported_has_rows():
    found = rows(
        [
            task(0, "jax:jit"),
            task(0, "litert:tflite", "crash"),
            task(0, "tf2onnx", "blocked"),
            task(2, "openvino_keras:predict", "unsupported", "it is not implemented"),
        ]
    )
    assert found == [("openvino_keras:predict", "Dense", 1, 0, "")]
    assert rows([task(0), task(3)]) == []


def test_a_model_that_runs_with_some_inputs_only_counts_in_both_columns():
    found = rows([task(2), task(2, status="unsupported", message="no items: not supported")])
    assert found == [("mxnet@1.9.1:tf2onnx", "Dense", 1, 1, "")]


def test_names_are_read_in_the_messages_of_libraries():
    first = GRAPHS[0].layers[0]
    assert find_named_layers(
        f"Exception encountered when calling n{first}_lstm: no", GRAPHS[0]
    ) == ["LSTM"]
    assert find_named_layers("Converting op `aten::lstm` and aten::lstm", DENSE) == ["aten::lstm"]
    assert find_named_layers("Operator 'GridSample' is not supported", DENSE) == ["GridSample"]
    assert find_named_layers("ValueError: axis is not supported", DENSE) == []
    assert find_named_layers("n11_lstm is not there", DENSE) == []
