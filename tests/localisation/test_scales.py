"""Scales: how they are told apart, found, and put into a graph; on a few values and nodes."""

import numpy as np
import pytest

from asterism.localisation import scales
from asterism.localisation.finer_scales import FinerScales, Precision
from asterism.localisation.graph import OnnxGraph
from asterism.localisation.hybrids import hybrid_model
from asterism.localisation.matching import scale_of
from asterism.localisation.qoperators import QuantisedOperators
from asterism.localisation.quantised_nodes import match_nodes
from asterism.localisation.reading import pair_graphs
from asterism.localisation.running import Session, batches
from asterism.localisation.scales import collect_observed_values, fit_range, quantise_by_channel
from onnx_texts import onnx_model

RNG = np.random.default_rng(0)
W = RNG.normal(size=(4, 3)).astype(np.float32) * np.float32([1, 5, 0.2])
B = RNG.normal(size=3).astype(np.float32)
X = RNG.normal(size=(64, 4)).astype(np.float32)


def original():
    return onnx_model("(float[n,4] x) => (float[n,3] y) { [gemm] y = Gemm (x, w, b) }", w=W, b=B)


def quantised():
    """The original with coarse scales for all weights and the output, and one bias of 32 bits."""
    text = """(float[n,4] x) => (float[n,3] y) {
        xq = QuantizeLinear (x, sx, zero)
        xf = DequantizeLinear (xq, sx, zero)
        wf = DequantizeLinear (qw, sw, zw)
        bf = DequantizeLinear (qb, sb)
        [gemm] y_float = Gemm (xf, wf, bf)
        yq = QuantizeLinear (y_float, sy, zero)
        y = DequantizeLinear (yq, sy, zero)
    }"""
    inputs, weights = np.float32(0.04), np.float32(0.2)
    scales = {"sx": inputs, "sw": weights, "sb": inputs * weights, "sy": np.float32(0.5)}
    levels = np.clip(np.rint(W / weights), -127, 127).astype(np.int8)
    bias = np.rint(B / (inputs * weights)).astype(np.int32)
    return onnx_model(text, **scales, zero=np.uint8(128), zw=np.int8(0), qw=levels, qb=bias)


# ---- finding scales


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_weights_get_a_symmetric_scale_for_each_channel(dtype, axis):
    wanted = np.array([[1.0, -8.0, 0.0], [-2.0, 4.0, 0.0]])
    values, scale, zero = quantise_by_channel(wanted, axis, dtype)
    middle = 0 if dtype == np.int8 else 128
    largest = {-1: [8.0], 0: [8.0, 4.0], 1: [2.0, 8.0, 0.0]}[axis]
    scales = [size / 127 if size else 1.0 for size in largest]
    assert scale.reshape(-1) == pytest.approx(scales)
    assert scale.shape == zero.shape == ((len(largest),) if axis >= 0 else ())
    assert (zero.reshape(-1) == middle).all()
    assert (values.dtype, scale.dtype, zero.dtype) == (dtype, np.float32, dtype)
    for row, column in np.ndindex(2, 3):
        step = scales[0 if axis < 0 else (row, column)[axis]]
        level = middle + round(wanted[row, column] / step)
        assert values[row, column] == level
        assert middle - 127 <= values[row, column] <= middle + 127


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16])
@pytest.mark.parametrize(
    ("observed", "low", "high"),
    [([-1.0, 3.0, 0.5], -1, 3), ([2.0, 4.0], 0, 4), ([-4.0, -2.0], -4, 0)],
)
def test_a_range_holds_all_values_and_zero(dtype, observed, low, high):
    limits = np.iinfo(dtype)
    scale, point = fit_range(np.array(observed), dtype, np.array([1.0]))
    assert (scale.dtype, point.dtype) == (np.float32, dtype)
    step = (high - low) / (int(limits.max) - int(limits.min))
    assert float(scale) == pytest.approx(step, rel=1e-5)
    assert int(point) == round(int(limits.min) - low / step)


def test_a_range_is_smaller_where_that_serves_most_values():
    many = np.concatenate([np.linspace(-1, 1, 2000), [40.0]])

    def error(scale, point):
        levels = np.clip(np.rint(many / scale) + int(point), 0, 255)
        return np.square((levels - int(point)) * float(scale) - many).sum()

    shares = np.array([1.0, 0.5, 0.98])
    tried = [fit_range(many, np.uint8, shares[n : n + 1]) for n in range(3)]
    errors = [error(*one) for one in tried]
    best = fit_range(many, np.uint8, shares)
    assert best == tried[int(np.argmin(errors))]
    even = fit_range(np.linspace(-1, 1, 2000), np.uint8, shares)
    assert float(even[0]) == pytest.approx(2 / 255)
    nothing = fit_range(np.zeros(3), np.int8)
    assert (float(nothing[0]), int(nothing[1])) == (1, -128)


# ---- scales in graphs


def test_scales_are_told_apart_by_their_values_and_unknown_ones_by_name():
    text = """(float x, float given) => () {
        a = QuantizeLinear (x, s, z)
        b = QuantizeLinear (x, same, z)
        c = QuantizeLinear (x, other, z)
        d = QuantizeLinear (x, x, z)
        e = QuantizeLinear (x, given, z)
        f = QuantizeLinear (x, s)
    }"""
    half = np.float32(0.5)
    model = onnx_model(text, s=half, same=half, other=np.float32(0.25), z=np.uint8(1))
    graph = OnnxGraph(model)
    found = [scale_of(graph, index) for index in range(6)]
    assert found[0] == found[1] == (half.tobytes(), b"\x01")
    assert len(set(found)) == 5
    assert found[3] == (b"x", b"\x01")
    assert found[4] == (b"given", b"\x01")


def test_a_float_version_that_a_file_has_is_taken():
    text = """(float[2,3] x) => (float[3,2] y, float[2,3] n) {
        q = QuantizeLinear (x, s, z)
        there = DequantizeLinear (q, s, z)
        t = Transpose <perm = [1, 0]> (q)
        y = DequantizeLinear (t, s, z)
        n = Neg (there)
    }"""
    model = onnx_model(text, s=np.float32(0.1), z=np.uint8(10))
    plain = QuantisedOperators(model).model
    (moved,) = (node for node in plain.graph.node if node.op_type == "Transpose")
    assert list(moved.input) == ["there"]
    readers = [n for n in plain.graph.node if n.op_type == "DequantizeLinear"]
    assert sorted(n.input[0] for n in readers) == ["q", "t"]
    feed = {"x": RNG.normal(size=(2, 3)).astype(np.float32)}
    for found, wanted in zip(
        *(Session(m, "it").run(feed).values() for m in (plain, model)), strict=True
    ):
        assert found == pytest.approx(wanted)


# ---- finer scales of a whole node


@pytest.mark.parametrize("bits", [8, 16])
def test_finer_scales_bring_a_node_near_the_original(bits):
    pair = match_nodes(pair_graphs(original(), quantised()))
    finer = FinerScales(pair, collect_observed_values(pair, batches({"x": X}, 20)), Precision(bits))
    (gemm,) = (n for n, node in enumerate(pair.nodes) if node.name == "gemm")
    assert gemm in finer.possible
    assert finer.applied([]) is pair
    changed = finer.applied([gemm])
    before, after, wanted = (
        Session(m, "it", optimised=False).run({"x": X})["y"]
        for m in (hybrid_model(pair, ()), hybrid_model(changed, ()), original())
    )
    # The input's own step of 0.04 stays; the weights' and the output's steps get finer.
    assert np.abs(before - wanted).max() > 0.2
    assert np.abs(after - wanted).max() < 0.25 * np.abs(before - wanted).max()
    graph = changed.opened.compressed
    scale = graph.value(graph.maker_of("wf").input[1])
    assert scale == pytest.approx(np.abs(W).max(axis=0) / 127, rel=1e-5)
    step = graph.value(graph.maker_of("y").input[1])
    wide = X @ W + B
    share = float(step) * (2**bits - 1) / (wide.max() - wide.min())
    assert (0.28 < share < 1.02) if bits == 8 else share == pytest.approx(2, rel=1e-3)
    assert Session(pair.opened.compressed.model, "it").run({"x": X})["y"].shape == (64, 3)
    bias = graph.maker_of("bf")
    stored = graph.value(bias.input[0]).astype(np.float64)
    assert stored * graph.value(bias.input[1]) == pytest.approx(B, abs=1e-3)
    assert graph.value(bias.input[1]) == pytest.approx(
        np.float32(0.04) * np.abs(W).max(axis=0) / 127, rel=1e-4
    )


def test_unclipped_ranges_are_those_of_the_values():
    pair = match_nodes(pair_graphs(original(), quantised()))
    feeds = batches({"x": X}, 20)
    (gemm,) = (n for n, node in enumerate(pair.nodes) if node.name == "gemm")
    changed = FinerScales(pair, collect_observed_values(pair, feeds), ranges="whole").applied(
        [gemm]
    )
    graph = changed.opened.compressed
    answers = X @ W + B
    low, high = min(0, answers.min()), max(0, answers.max())
    step, point = (graph.value(name) for name in graph.maker_of("y").input[1:3])
    assert float(step) == pytest.approx((high - low) / 255, rel=1e-5)
    assert int(point) == round(-low / float(step))


def test_ranges_are_chosen_by_a_sample_with_the_ends(monkeypatch):
    monkeypatch.setattr(scales, "_SAMPLE", 40)
    pair = match_nodes(pair_graphs(original(), quantised()))
    found = collect_observed_values(pair, batches({"x": X}, 32))
    assert set(found) == {"x", "y"}
    answers = (X @ W + B).reshape(2, -1)
    for tensor, runs in (("x", X.reshape(2, -1)), ("y", answers)):
        step = runs.size // 40  # of all runs together
        expected = [v for run in runs for v in (run.min(), run.max(), *run[::step])]
        assert found[tensor] == pytest.approx(expected, abs=1e-5)
        assert found[tensor].dtype == np.float64
    broken = X.copy()
    broken[0, 0] = np.inf
    assert np.isfinite(collect_observed_values(pair, batches({"x": broken}, 32))["x"]).all()
