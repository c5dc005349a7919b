"""Pairs of small graphs: matching, errors of tensors, trials, repaired files."""

from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pytest
from localised import localise
from onnxruntime.quantization import quantize_dynamic
from written_graphs import (
    OPSET,
    V,
    W,
    X,
    products_of,
    rounded,
    two_products,
    value,
)

from asterism.core.messages.errors import UserError
from asterism.localisation import repair
from asterism.localisation.hybrids import hybrid_model, serialise_checked
from asterism.localisation.localising import EvaluationBudget, _moved_by
from asterism.localisation.quantised_nodes import match_nodes
from asterism.localisation.reading import open_graphs, pair_graphs
from asterism.localisation.repair import RepairCurve, RepairedFile, measure_latency
from asterism.localisation.running import Session, batches
from asterism.localisation.tensor_errors import (
    RunningSums,
    ValueDeviation,
    measure_own_noise,
    measure_tensor_errors,
)
from asterism.localisation.trials import Trial, TrialRunner
from asterism.models.onnx_graphs import own_opset, with_outputs
from onnx_texts import onnx_model


@pytest.fixture(scope="module")
def pair():
    return match_nodes(pair_graphs(two_products(), two_products(rounded(W), rounded(V))))


def signed(original, compressed):
    """Not the same in both directions: what the other's first number is above the original's."""
    return np.maximum(compressed["y"] - original["y"], 0)[:, 0]


# ---- reading and matching


def test_further_outputs_are_added_once():
    model = with_outputs(two_products(), ["r", "y", "h"])
    assert [o.name for o in model.graph.output] == ["y", "r", "h"]
    assert len(two_products().graph.output) == 1


def test_outputs_in_another_order_are_those_of_the_same_names():
    original = with_outputs(two_products(), ["h"])
    other = with_outputs(two_products(rounded(W), rounded(V)), ["h"])
    outputs = [*other.graph.output][::-1]
    del other.graph.output[:]
    other.graph.output.extend(outputs)
    pair = pair_graphs(original, other)
    assert pair.original.outputs == pair.compressed.outputs == ["h", "y"]
    runner = TrialRunner(match_nodes(pair), batches({"x": X}, len(X)), signed)
    (wanted,) = runner.wanted
    assert np.allclose(wanted["y"], products_of(W, V)) and wanted["h"].shape != wanted["y"].shape
    assert [o.name for o in original.graph.output] == ["y", "h"], "what was given is unchanged"


def test_a_pair_keeps_its_files_and_knows_its_types(pair):
    opened = pair.opened
    assert opened.original_file == two_products().SerializeToString(deterministic=True)
    wanted = two_products(rounded(W), rounded(V)).SerializeToString(deterministic=True)
    assert opened.compressed_file == wanted
    assert opened.original_types == dict.fromkeys("xhry", "float")
    assert opened.compressed_types == dict.fromkeys("xhry", "float")


def test_an_original_of_another_operator_set_is_converted(tmp_path):
    older, newer = two_products(), two_products(rounded(W), rounded(V))
    older.opset_import[0].version = 13
    paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
    for path, model in zip(paths, (older, newer), strict=True):
        path.write_bytes(model.SerializeToString())
    opened = open_graphs(*paths)
    assert (own_opset(opened.original.model), own_opset(opened.compressed.model)) == (OPSET, OPSET)
    assert older.opset_import[0].version == 13
    newer.opset_import[0].version = 99
    with pytest.raises(UserError, match=r"set 13 .*set 99"):
        pair_graphs(older, newer)


def test_inputs_that_do_not_fit_are_no_pair():
    more = two_products()
    more.graph.input.append(value("x2", "n", 2))
    with pytest.raises(UserError, match=r"1 inputs .*2"):
        pair_graphs(two_products(), more)
    assert pair_graphs(more, two_products()).original.inputs == ["x", "x2"]


def test_rounded_weights_are_nodes_and_take_what_stands_before_them(pair):
    assert [(node.name, node.operator, node.position) for node in pair.nodes] == [
        ("first", "MatMul", 0),
        ("second", "MatMul", 2),
    ]
    assert pair.constant(2, 1).tolist() == V.tolist()
    assert pair.constant(1, 0) is None
    assert pair.constant(2, 5) is None


def test_a_hybrid_computes_the_chosen_products_as_the_original_does(pair):
    weights = [(W, V), (rounded(W), rounded(V))]
    for floats in ((), (0,), (1,), (0, 1)):
        first = weights[0 not in floats][0]
        second = weights[1 not in floats][1]
        found = Session(serialise_checked(hybrid_model(pair, floats), "it"), "it").run({"x": X})[
            "y"
        ]
        assert found == pytest.approx(products_of(first, second), abs=1e-5)


def test_a_model_that_onnx_rejects_is_no_file():
    broken = two_products()
    broken.graph.node[0].op_type = "Nothing"
    with pytest.raises(UserError, match="valid ONNX"):
        serialise_checked(broken, "it")


# ---- errors of tensors


def test_sums_come_to_a_difference():
    sums = RunningSums()
    sums.add(np.float32([3, 0]), np.float32([3, 1]))
    sums.add(np.float32([4]), np.float32([2]))
    sums.add(np.float32([]), np.float32([]))
    found = sums.difference()
    ratio = np.sqrt(5 / 25)
    assert found.relative_l2 == pytest.approx(ratio)
    assert found.sqnr_db == pytest.approx(-20 * np.log10(ratio))
    assert found.largest == 2
    assert RunningSums().difference() == ValueDeviation(np.inf, 0, 0)


@pytest.mark.parametrize(
    ("wanted", "given_", "expected"),
    [
        ([1, 2], [1, 2, 3], ValueDeviation(-np.inf, np.inf, np.inf)),
        ([0, 0], [0, 2], ValueDeviation(-np.inf, np.inf, 2)),
        ([1, 2], [1, np.inf], ValueDeviation(-np.inf, np.inf, np.inf)),
        ([1, 2], [1, np.nan], ValueDeviation(-np.inf, np.inf, np.inf)),
        ([np.inf, 2], [np.inf, 2], ValueDeviation(np.inf, 0, 0)),
    ],
)
def test_what_is_not_finite_or_not_there_is_infinitely_far(wanted, given_, expected):
    sums = RunningSums()
    sums.add(np.float32(wanted), np.float32(given_))
    assert sums.difference() == expected


def test_a_nodes_noise_is_that_of_its_worst_output():
    def error(quantised, relative):
        own = None if relative is None else ValueDeviation(0, relative, 0)
        return SimpleNamespace(quantised=quantised, own=own)

    errors = [error(1, 0.2), error(None, 0.9), error(1, 0.3), error(1, 0.1), error(0, None)]
    assert measure_own_noise(SimpleNamespace(nodes=[0, 1, 2]), errors) == [0, 0.3, 0]


# ---- trials


def test_a_deviation_is_from_the_original_to_the_compressed_model(pair):
    feeds = batches({"x": X}, 2)
    runner = TrialRunner(pair, feeds, signed)
    given = products_of(rounded(W), rounded(V))
    wanted = np.maximum(given - products_of(W, V), 0)[:, 0]
    assert wanted.max() > 0
    assert runner.base.deviations == pytest.approx(wanted, abs=1e-5)
    assert runner.base.error == pytest.approx(1)
    trial, outputs = runner.run([1])
    half = products_of(rounded(W), V)
    assert np.concatenate([run["y"] for run in outputs]) == pytest.approx(half, abs=1e-5)
    assert trial.floats == {1}
    above = np.maximum(half - products_of(W, V), 0)[:, 0]
    assert trial.deviations == pytest.approx(above, abs=1e-5)
    squares = [np.square(products_of(W, V) - other).sum() for other in (half, given)]
    assert trial.error == pytest.approx(squares[0] / squares[1], rel=1e-4)
    assert Trial(frozenset(), np.array([1.0, 2.5]), 0).deviation == 3.5
    base, best = repair.judge_repaired_file(two_products().SerializeToString(), pair, feeds, signed)
    assert base.deviations == pytest.approx(wanted, abs=1e-5)
    assert best.deviation == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("strange", [np.nan, np.inf])
def test_an_output_that_is_no_number_is_the_largest_error(pair, strange):
    runner = TrialRunner(pair, batches({"x": X}, len(X)), signed)
    outputs = [{"y": products_of(W, V)}]
    judged = runner.judge(frozenset({7}), outputs)
    assert (judged.floats, judged.error) == ({7}, pytest.approx(0, abs=1e-9))
    outputs[0]["y"][0, 1] = strange
    assert 1e25 < runner.judge(frozenset(), outputs).error < np.inf


def test_a_budget_gives_what_is_left():
    budget = EvaluationBudget(5)
    assert [budget.take(n) for n in (2, 0, 9, 1)] == [2, 0, 3, 0]
    assert (budget.left, budget.spent) == (0, 5)


def test_a_change_is_moved_to_another_output_unless_that_has_labels():
    now, was, alone = (np.float32(v) for v in ([1, 2], [0, 1], [0.5, 3]))
    assert _moved_by(now, was, alone).tolist() == [1.5, 4]
    labels = np.int64([1, 2])
    assert _moved_by(labels, labels, labels + 1).tolist() == [1, 2]
    assert _moved_by(now, was[:1], alone[:1]).tolist() == [1, 2]


def test_localising_explains_each_node_by_what_goes_away_with_it(pair):
    def far(original, compressed):
        return np.abs(original["y"] - compressed["y"]).sum(axis=1)

    found = localise(pair, batches({"x": X}, 2), far, 5, most=2)
    base = far({"y": products_of(W, V)}, {"y": products_of(rounded(W), rounded(V))}).sum()
    for ranked in found.ranking:
        weights = (W, rounded(V)) if ranked.index == 0 else (rounded(W), V)
        left = far({"y": products_of(W, V)}, {"y": products_of(*weights)}).sum()
        assert ranked.explained == pytest.approx(1 - left / base, abs=1e-5)
        assert ranked.node == pair.nodes[ranked.index].name
    explained = [ranked.explained for ranked in found.ranking]
    assert explained == sorted(explained, reverse=True)
    assert found.order == [ranked.index for ranked in found.ranking]
    assert [sorted(trial.floats) for trial in found.trials] == [[], found.order[:1], [0, 1]]
    assert found.trials[2].deviation == pytest.approx(0, abs=1e-4)
    assert found.evaluations == 4
    alone = localise(pair, batches({"x": X}, 2), far, 5, most=2, enough=explained[0] - 1e-6)
    assert len(alone.trials) == 2


def test_a_tensors_error_is_told_as_it_is_and_with_the_originals_inputs(pair):
    def ratio(given, wanted):
        return pytest.approx(np.linalg.norm(wanted - given) / np.linalg.norm(wanted), rel=1e-4)

    found = {error.tensor: error for error in measure_tensor_errors(pair, batches({"x": X}, 2))}
    assert list(found) == ["x", "h", "r", "y"]
    assert [(e.node, e.operator, e.quantised) for e in found.values()] == [
        ("", "", None),
        ("first", "MatMul", 0),
        ("r", "Relu", None),
        ("second", "MatMul", 1),
    ]
    assert found["x"].cumulative == ValueDeviation(np.inf, 0, 0)
    assert found["h"].cumulative.relative_l2 == ratio(X @ rounded(W), X @ W)
    assert found["h"].own == found["h"].cumulative
    assert found["r"].own is None
    wanted = products_of(W, V)
    assert found["y"].cumulative.relative_l2 == ratio(products_of(rounded(W), rounded(V)), wanted)
    assert found["y"].own.relative_l2 == ratio(products_of(W, rounded(V)), wanted)
    assert found["y"].own.largest == pytest.approx(
        np.abs(products_of(W, rounded(V)) - wanted).max(), rel=1e-4
    )


def test_nodes_without_names_are_told_apart(tmp_path):
    """A quantised product with a bias becomes several nodes, some of them without a name."""
    text = """(float[n,2] x) => (float[n,2] y) {
        h = Gemm (x, w, b)
        r = Relu (h)
        y = Gemm (r, v, c)
    }"""
    ones = {name: np.ones(a.shape[1], np.float32) for name, a in (("b", W), ("c", V))}
    model = onnx_model(text, w=W, v=V, **ones)
    onnx.save(model, tmp_path / "float.onnx")
    quantize_dynamic(tmp_path / "float.onnx", tmp_path / "int8.onnx")
    found = match_nodes(pair_graphs(model, onnx.load(tmp_path / "int8.onnx")))
    named = [part.name for part in found.opened.compressed.nodes]
    assert max(sum(not named[i] for i in node.body) for node in found.nodes) > 1
    errors = {error.tensor: error for error in measure_tensor_errors(found, batches({"x": X}, 2))}
    for tensor in ("h", "y"):
        assert 0 < errors[tensor].own.relative_l2 < 0.1


# ---- repaired files


@pytest.mark.parametrize(
    ("times", "median"),
    [([(n * 7) % 15 / 1e3 for n in range(15)], 0.007), ([0.6, 0.5, 0.8], 0.6), ([2, 3, 1], 2)],
)
def test_latency_is_the_median_of_up_to_fifteen_runs(monkeypatch, times, median):
    clock = iter(np.cumsum([part for seconds in times for part in (100.0, seconds)]).tolist())
    monkeypatch.setattr(repair, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    content = two_products().SerializeToString()
    assert measure_latency(content, {"x": X}) == pytest.approx(median)
    assert next(clock, None) is None


def file(floats=(), finer=(), gone=0.0, share=0.0, content=b"1234", bits=8):
    found = gone, 1000, 1.0, 0.0, share
    return RepairedFile(tuple(floats), tuple(finer), bits, (), content, *found)


def test_the_smallest_file_has_the_fewest_floats_then_changes_then_bytes():
    files = [
        file(gone=0.1),
        file(floats=[1, 2], gone=0.95, share=0.2),
        file(floats=[1], finer=[2, 3], gone=0.901, share=0.1),
        file(floats=[1], finer=[2], gone=0.901, share=0.1, content=b"12345"),
        file(floats=[1], finer=[3], gone=0.901, share=0.1, content=b"123"),
    ]
    curve = RepairCurve(None, None, files, 0)
    assert curve.smallest(0.9) is files[4]
    assert curve.smallest(0.91) is files[1]
    assert curve.smallest(0.91, 2) is files[1]
    assert curve.smallest(0.91, 1) is None
    assert curve.smallest(0.0) is files[0]
    wide = file(finer=[1, 2], gone=0.95, bits=16)
    curve = RepairCurve(None, None, [*files, wide], 0)
    assert curve.smallest(0.91) is wide and curve.smallest(0.91, bits=8) is files[1]


def test_a_file_is_written_as_it_is(tmp_path):
    repaired = file(content=two_products().SerializeToString())
    repaired.write(tmp_path / "repaired.onnx")
    assert (tmp_path / "repaired.onnx").read_bytes() == repaired.content
    assert repaired.size == len(repaired.content)
    assert [path.name for path in tmp_path.glob("*.onnx*")] == ["repaired.onnx"]
    session = onnxruntime.InferenceSession(tmp_path / "repaired.onnx")
    assert session.run(None, {"x": X})[0] == pytest.approx(products_of(W, V))
