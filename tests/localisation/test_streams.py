"""Streaming models: states are carried in trials, errors of tensors, ranges and repaired files."""

import numpy as np
import onnx
import pytest
from damages import cases
from localised import repaired_damages
from onnx import numpy_helper
from streaming_networks import (
    CALLS,
    answers_of,
    by_hand,
    dynamic,
    half,
    memory,
    memory_streams,
    quantised,
    recurrence,
    sequences,
    streams,
)
from written_graphs import constant

from asterism.localisation.hybrids import hybrid_model
from asterism.localisation.quantised_nodes import match_nodes
from asterism.localisation.reading import pair_graphs
from asterism.localisation.repair import build_repair_curve, measure_latency
from asterism.localisation.running import (
    Session,
    Stream,
    carried_outputs,
    first_call,
    number_of_calls,
)
from asterism.localisation.scales import collect_observed_values
from asterism.localisation.tensor_errors import measure_tensor_errors
from asterism.localisation.trials import TrialRunner
from onnx_texts import onnx_model

ITEMS = sequences()


@pytest.fixture(scope="module")
def int8():
    return quantised()


@pytest.fixture(scope="module")
def pair(int8):
    return match_nodes(pair_graphs(recurrence(), int8))


def difference(original, compressed):
    """Half the L1 distance of the probabilities, summed over the calls."""
    return np.abs(original["y"] - compressed["y"]).sum(axis=(1, 2)) / 2


def test_a_stream_is_run_call_by_call_with_its_state_for_each_item():
    wanted, states = by_hand(ITEMS)
    assert answers_of(recurrence(), ITEMS) == pytest.approx(wanted, abs=1e-6)
    runs = streams(ITEMS, 5)
    assert [number_of_calls(run) for run in runs] == [CALLS] * 3
    assert carried_outputs([*runs, {"x": ITEMS}]) == {"state_out"}
    alone = np.concatenate([answers_of(recurrence(), item[np.newaxis]) for item in ITEMS])
    assert alone == pytest.approx(wanted, abs=1e-6)
    session = Session(recurrence(), "it")
    for call, state in zip(session.calls(runs[0]), states, strict=True):
        assert call["state_in"] == pytest.approx(state[:5], abs=1e-6)
    assert first_call(runs[0]) is runs[0].first
    assert (first_call({"x": ITEMS})["x"] is ITEMS, number_of_calls({"x": ITEMS})) == (True, 1)


def test_a_state_is_told_by_its_place_where_the_names_differ():
    text = recurrence()
    for node in text.graph.node:
        for names in (node.input, node.output):
            names[:] = [f"s_{n.removeprefix('state_')}" if "state" in n else n for n in names]
    text.graph.input[1].name, text.graph.output[1].name = "s_in", "s_out"
    runner = TrialRunner(match_nodes(pair_graphs(recurrence(), text)), streams(ITEMS), difference)
    assert runner.base.deviation == pytest.approx(0, abs=1e-5)
    assert [list(run) for run in runner.given] == [["y"]] * 3
    assert runner.given[0]["y"].shape == (5, CALLS, 3)


def test_all_nodes_in_float_are_the_original_with_its_own_state(pair):
    model = hybrid_model(pair, range(len(pair.nodes)))
    wanted, _ = by_hand(ITEMS)
    assert answers_of(model, ITEMS) == pytest.approx(wanted, abs=1e-6)
    left = answers_of(hybrid_model(pair, ()), ITEMS)
    assert left == pytest.approx(answers_of(pair.opened.compressed_file, ITEMS), abs=1e-3)
    assert np.abs(left - wanted).max() > 1e-3


def decaying(keep, gain):
    """``state' = y = gain · (keep · state + x)``, all of them ``(n, 1)``."""
    text = """(float[n,1] x, float[n,1] state_in) => (float[n,1] y, float[n,1] state_out) {
        [keep] kept = MatMul (state_in, keep)
        [join] sum = Add (kept, x)
        [amplify] state_out = MatMul (sum, gain)
        [answer] y = Identity (state_out)
    }"""
    return onnx_model(text, keep=np.float32([[keep]]), gain=np.float32([[gain]]))


def test_own_errors_are_of_the_originals_state_and_cumulative_ones_of_each_models_own():
    calls = [{"x": np.ones((1, 1), np.float32)} for _ in range(6)]
    first = calls[0] | {"state_in": np.zeros((1, 1), np.float32)}
    run = Stream(first, calls[1:], {"state_in": "state_out"})
    pair = match_nodes(pair_graphs(decaying(0.5, 1.0), decaying(0.505, 1.1)))
    found = {error.tensor: error for error in measure_tensor_errors(pair, [run])}
    own = {name: found[name].own for name in ("kept", "state_out")}
    assert [node.name for node in pair.nodes] == ["keep", "amplify"]
    assert own["kept"].relative_l2 == pytest.approx(0.01, rel=1e-3)
    assert own["state_out"].relative_l2 == pytest.approx(0.1, rel=1e-3)
    states = {}
    for name, (keep, gain) in {"f": (0.5, 1.0), "g": (0.505, 1.1)}.items():
        states[name] = [0.0]
        for _ in calls:
            states[name].append(gain * (keep * states[name][-1] + 1))
    drift = np.array(states["g"]) - np.array(states["f"])
    assert found["state_out"].cumulative.largest == pytest.approx(drift.max(), rel=1e-5)
    assert drift.max() > 2 * own["state_out"].largest
    before = 0.505 * np.array(states["g"][:-1]) - 0.5 * np.array(states["f"][:-1])
    assert found["kept"].cumulative.largest == pytest.approx(before.max(), rel=1e-5)
    assert found["kept"].cumulative.relative_l2 > own["state_out"].relative_l2, (
        "by cumulative errors alone the node that is to blame is not told from its followers"
    )


def test_ranges_are_taken_over_all_calls(pair):
    observed = collect_observed_values(pair, streams(ITEMS))
    _, states = by_hand(ITEMS)
    assert observed["state_in"].max() == pytest.approx(np.max(states), abs=1e-6)
    assert observed["state_in"].min() == pytest.approx(np.min(states), abs=1e-6)


def test_half_precision_is_exchanged_node_by_node():
    model = half()
    weight = next(tensor for tensor in model.graph.initializer if tensor.name == "recurrent")
    weight.CopyFrom(constant("recurrent", numpy_helper.to_array(weight) * np.float16(1.25)))
    for given, blamed in ((half(), None), (model, "keep")):
        pair = match_nodes(pair_graphs(recurrence(), given))
        assert {node.name for node in pair.nodes} >= {"see", "keep", "join", "squash", "read"}
        curve = build_repair_curve(pair, streams(ITEMS), difference, len(pair.nodes) + 3, most=1)
        assert curve.files[0].remaining > 0
        first = curve.localisation.ranking[0]
        if blamed is not None:
            assert first.node == blamed and first.explained > 0.99
        wanted, _ = by_hand(ITEMS)
        whole = answers_of(hybrid_model(pair, range(len(pair.nodes))), ITEMS)
        assert whole == pytest.approx(wanted, abs=1e-6)


def test_a_quantised_lstm_is_exchanged_and_its_damage_found():
    runs = memory_streams(ITEMS)
    int8 = dynamic(memory())
    assert "DynamicQuantizeLSTM" in [node.op_type for node in int8.graph.node]
    scale = next(tensor for tensor in int8.graph.initializer if tensor.name == "R_scale")
    scale.CopyFrom(constant("R_scale", numpy_helper.to_array(scale) * np.float32(1.5)))
    pair = match_nodes(pair_graphs(memory(), int8))
    assert [node.name for node in pair.nodes] == ["remember", "read"]
    curve = build_repair_curve(pair, runs, difference, len(pair.nodes) + 3, most=1)
    first = curve.localisation.ranking[0]
    assert (first.node, first.explained > 0.9) == ("remember", True)
    assert first.own_error == max(ranked.own_error for ranked in curve.localisation.ranking)
    runner = TrialRunner(pair, runs, difference)
    both, _ = runner.run([0, 1])
    assert both.deviation == pytest.approx(0, abs=1e-5) and runner.base.deviation > 0.1


@pytest.mark.parametrize("inner", [False, True])
def test_other_weights_of_an_lstm_are_a_node_also_inside_a_branch(inner):
    original, other = memory(inner), memory(inner)
    assert match_nodes(pair_graphs(original, other)).nodes == ()
    weight = next(tensor for tensor in other.graph.initializer if tensor.name == "R")
    weight.CopyFrom(constant("R", np.round(numpy_helper.to_array(weight), 1)))
    pair = match_nodes(pair_graphs(original, other))
    assert [(node.name, node.operator) for node in pair.nodes] == [
        ("remember", "If" if inner else "LSTM")
    ]
    runner = TrialRunner(pair, memory_streams(ITEMS), difference)
    exchanged, _ = runner.run([0])
    assert exchanged.deviation == pytest.approx(0, abs=1e-6)
    assert runner.base.deviation > 0.1


DAMAGED = [pytest.param(1, marks=pytest.mark.slow), 6]


@pytest.mark.parametrize("step", DAMAGED)
def test_a_damaged_node_of_a_streaming_model_is_ranked_first_and_repaired(int8, step):
    runs, few = streams(ITEMS), list(cases(int8))[::step]
    repaired = list(repaired_damages(recurrence(), int8, few, runs, difference))
    for best in repaired:
        onnx.checker.check_model(best.content, full_check=True)
        again = answers_of(best.content, ITEMS)
        left = difference({"y": by_hand(ITEMS)[0]}, {"y": again}).sum()
        assert left == pytest.approx(best.remaining, rel=1e-3), "a file does what its trial did"
        assert measure_latency(best.content, runs[0]) > 0
    assert len(repaired) >= 24 // step
