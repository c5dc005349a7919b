"""Localising where trials are dear: few inputs, groups that are halved, tensors in parts."""

import numpy as np
import pytest
from localised import localise
from quantised_networks import digits, model, quantised, trained

from asterism.localisation import localising, tensor_errors
from asterism.localisation.localising import BlamedNodes, doubling_groups, estimate_multiplications
from asterism.localisation.quantised_nodes import match_nodes
from asterism.localisation.reading import pair_graphs
from asterism.localisation.repair import build_repair_curve
from asterism.localisation.running import Session, batches
from asterism.localisation.trials import TrialRunner, squared_error
from onnx_texts import onnx_model

RNG = np.random.default_rng(5)
NODES = 40


def chain(weights):
    """``y = x·w0·w1·…``"""
    names = ["x", *(f"h{n}" for n in range(1, len(weights))), "y"]
    products = [
        f"[product{n}] {names[n + 1]} = MatMul ({names[n]}, w{n})" for n in range(len(weights))
    ]
    text = f"(float[n,6] x) => (float[n,6] y) {{ {' '.join(products)} }}"
    return onnx_model(text, **{f"w{n}": weight for n, weight in enumerate(weights)})


@pytest.fixture
def damaged():
    """Forty products, all a little off, and two of them much more."""
    rng = np.random.default_rng(1)
    weights = [np.linalg.qr(rng.normal(size=(6, 6)))[0].astype(np.float32) for _ in range(NODES)]
    sizes = np.full(NODES, 1e-3)
    sizes[[7, 29]] = 0.05, 0.2
    off = [
        w + np.float32(s) * rng.normal(size=w.shape).astype(np.float32)
        for w, s in zip(weights, sizes, strict=True)
    ]
    pair = match_nodes(pair_graphs(chain(weights), chain(off)))
    assert len(pair.nodes) == NODES
    return pair, batches({"x": rng.normal(size=(64, 6)).astype(np.float32)}, 8)


def distance(original, compressed):
    return np.abs(original["y"] - compressed["y"]).sum(axis=1)


def test_groups_double_and_hold_each_node_once():
    assert doubling_groups([4, 2, 0, 1, 3, 5, 6]) == [(4,), (2,), (0, 1), (3, 5, 6)]
    for count in range(40):
        assert [i for group in doubling_groups(range(count)) for i in group] == list(range(count))
    assert len(doubling_groups(range(1000))) == 11


def test_halving_finds_the_culprits_with_few_trials(damaged, monkeypatch):
    pair, feeds = damaged
    # What says which nodes are likely is of no use here.
    monkeypatch.setattr(
        localising, "measure_own_noise", lambda pair, errors: [0.0] * len(pair.nodes)
    )
    found = localise(pair, feeds, distance, 26, most=2)
    assert found.evaluations <= 26
    tried = [entry for entry in found.ranking if entry.explained is not None]
    assert len(tried) < NODES
    assert [entry.index for entry in found.ranking[:2]] == [29, 7]
    assert found.order == [29, 7]
    assert found.trials[2].error < 0.05
    whole = localise(pair, feeds, distance, 100, most=2)
    assert [entry.index for entry in whole.ranking[:2]] == [29, 7]
    assert all(entry.explained is not None for entry in whole.ranking)


def test_dear_trials_are_judged_by_the_first_inputs(damaged, monkeypatch):
    pair, feeds = damaged
    calls = []
    run = TrialRunner.run
    monkeypatch.setattr(
        TrialRunner,
        "run",
        lambda self, floats, **how: calls.append(len(self.feeds)) or run(self, floats, **how),
    )
    monkeypatch.setattr(localising, "_WORK", 0)
    found = localise(pair, feeds, distance, 100, most=2)
    assert [entry.index for entry in found.ranking[:2]] == [29, 7]
    assert calls[:-2] and set(calls[:-2]) == {2}, "16 inputs"
    assert calls[-2:] == [8, 8], "sets are measured on all of them"
    assert len(calls) <= 24 + 2
    assert len(found.trials[1].deviations) == 64


def test_a_set_grows_as_far_as_is_asked(damaged):
    pair, feeds = damaged
    blame = BlamedNodes(TrialRunner(pair, feeds, distance), 60, 3)
    sizes = [len(blame.grown(1.0, most).order) for most in (0, 1, 2, 9)]
    assert sizes == [0, 1, 2, 3]
    assert blame.grown(1.0).order[:2] == [29, 7]


@pytest.mark.slow
def test_large_tensors_are_compared_in_parts(monkeypatch):
    pair = match_nodes(
        pair_graphs(model(trained("residual")), model(quantised("residual", "per_tensor")))
    )
    feeds = batches({"images": digits()[0][1400:1440]}, 20)
    wanted = tensor_errors.measure_tensor_errors(pair, feeds)
    monkeypatch.setattr(tensor_errors, "_ROOM", 10_000)
    opened = []
    session = tensor_errors.Session
    monkeypatch.setattr(
        tensor_errors, "Session", lambda *a, **k: opened.append(a[1]) or session(*a, **k)
    )
    assert tensor_errors.measure_tensor_errors(pair, feeds) == wanted
    assert len(opened) > 5
    monkeypatch.setattr(tensor_errors, "_VALUES", 1)
    few = tensor_errors.measure_tensor_errors(pair, feeds)
    assert few == tensor_errors.measure_tensor_errors(pair, feeds[:1])
    assert few != wanted


def test_work_is_counted_by_sums_and_values():
    weights = [RNG.normal(size=(6, 6)).astype(np.float32) for _ in range(2)]
    pair = match_nodes(pair_graphs(chain(weights), chain([w + 1 for w in weights])))
    errors = tensor_errors.measure_tensor_errors(
        pair, batches({"x": np.ones((4, 6), np.float32)}, 4)
    )
    values = 4 * 6
    assert estimate_multiplications(pair, errors) == 30 * 3 * values + 2 * values * 6


def test_answers_do_not_keep_the_memory_of_their_session():
    session = Session(trained("convolutional"), "it")
    (answer,) = session.answers({"images": digits()[0][:3]}, {"logits": "logits"}).values()
    assert answer.flags.owndata


# ---- small graphs and unequal outputs


def two_scales():
    """Boxes in pixels and scores below 1 under one scale: every score is 0."""
    text = """(float[n,6] x) => (float[n,6] y) {{
        [boxes] boxes = MatMul (x, b)
        [logits] logits = MatMul (x, s)
        [scores] scores = Sigmoid (logits)
        {}
    }}"""
    quantised = """
        bq = QuantizeLinear (boxes, sb, zero)
        coarse = DequantizeLinear (bq, sb, zero)
        [join] both = Concat <axis = 1> (coarse, scores)
        yq = QuantizeLinear (both, sy, zero)
        y = DequantizeLinear (yq, sy, zero)
    """
    weights = {
        "b": np.abs(RNG.normal(200, 30, (6, 4))).astype(np.float32),
        "s": RNG.normal(0, 4, (6, 2)).astype(np.float32),
    }
    scales = {"sy": np.float32(2000 / 255), "sb": np.float32(100), "zero": np.uint8(0)}
    original = onnx_model(text.format("[join] y = Concat <axis = 1> (boxes, scores)"), **weights)
    return match_nodes(
        pair_graphs(original, onnx_model(text.format(quantised), **weights, **scales))
    )


def detections(original, compressed):
    one, other = (answer["y"][:, 4:] > 0.5 for answer in (original, compressed))
    return (one != other).any(axis=1)


def test_a_scale_that_boxes_share_with_scores_is_blamed_and_split():
    pair = two_scales()
    items = RNG.random((300, 6)).astype(np.float32)
    base = TrialRunner(pair, batches({"x": items}, 50), detections).base
    deviating = items[base.deviations > 0]
    assert len(deviating) > 100 and [node.name for node in pair.nodes] == ["boxes", "join"]
    ordinary = batches({"x": items[:64]}, 8)
    curve = build_repair_curve(pair, batches({"x": deviating}, 8), detections, 20, 1, 0.9, ordinary)
    assert curve.localisation.ranking[0].node == "join"
    chosen = curve.smallest(0.9, 1)
    assert chosen is not None and chosen.gone == 1
    assert {pair.nodes[i].name for i in chosen.floats} == {"join"}
    assert chosen.error > 0.3, "the boxes are as far off as they were"
    assert chosen.kept is not None and chosen.kept >= 0.9
    unknown = build_repair_curve(pair, batches({"x": deviating}, 8), detections, 20, 1, 0.9)
    assert all(file.kept is None for file in unknown.files)


def test_outputs_of_unlike_numbers_of_rows_have_an_error():
    few, many = np.ones((2, 3), np.float32), np.ones((4, 3), np.float32)
    assert squared_error(few, many) == squared_error(many, few) == 6
    assert squared_error(few, few + 2) == 24
    assert squared_error(np.float32(1), np.float32(3)) == 4, "a number of no axis"
    lost = np.where(np.eye(2, 3, dtype=bool), np.nan, few)
    assert squared_error(many, many) < squared_error(few, lost) < np.inf
