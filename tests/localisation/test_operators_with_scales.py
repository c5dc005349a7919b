"""Operators that quantise weights in ways of their own, and weights behind other nodes."""

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import quantize_dynamic
from quantised_networks import EXACT, model, quantised, trained

from asterism.localisation.finer_scales import FinerScales
from asterism.localisation.hybrids import hybrid_model, serialise_checked
from asterism.localisation.matching import constant_value
from asterism.localisation.quantised_nodes import match_nodes
from asterism.localisation.reading import pair_graphs
from asterism.localisation.running import Session, batches
from asterism.localisation.scales import collect_observed_values
from asterism.models.onnx_graphs import own_opset
from onnx_texts import onnx_model

RNG = np.random.default_rng(3)
HIDDEN, WIDTH, CALLS = 6, 5, 4


def outputs_of(pair, feed, scales=None):
    """What the compressed model gives as it is, or with all possible finer scales."""
    finer = pair if scales is None else scales.applied(scales.possible)
    return next(
        iter(Session(serialise_checked(hybrid_model(finer, ()), "it"), "it").run(feed).values())
    )


def dynamically(original, tmp_path, **options):
    paths = tmp_path / "float.onnx", tmp_path / "int8.onnx"
    onnx.save(original, paths[0])
    quantize_dynamic(*paths, **options)
    return onnx.load(paths[1])


def spoilt(*shape):
    """Weights, one of which is so large that a scale for all of them leaves the others nothing."""
    weights = RNG.normal(0, 0.3, shape).astype(np.float32)
    weights.flat[0] = 50.0
    return weights


def recurrent(directions):
    direction = "bidirectional" if directions == 2 else "forward"
    text = f"""(float[{CALLS},n,{WIDTH}] x) => (float[{CALLS},{directions},n,{HIDDEN}] y) {{
        [lstm] y = LSTM <hidden_size = {HIDDEN}, direction = "{direction}"> (x, w, r)
    }}"""
    inward = np.stack([spoilt(4 * HIDDEN, WIDTH) for _ in range(directions)])
    kept = np.stack([spoilt(4 * HIDDEN, HIDDEN) for _ in range(directions)])
    return onnx_model(text, w=inward, r=kept)


def product(nodes="", **constants):
    """``y = x·w``, where nodes may make ``w``."""
    text = f"(float[n,8] x) => (float[n,3] y) {{ {nodes} [product] y = MatMul (x, w) }}"
    return onnx_model(text, **constants)


@EXACT
@pytest.mark.parametrize("directions", [1, 2])
def test_a_layer_that_quantises_by_itself_gets_a_scale_for_each_channel(tmp_path, directions):
    original = recurrent(directions)
    compressed = dynamically(original, tmp_path)
    assert [node.op_type for node in compressed.graph.node] == ["DynamicQuantizeLSTM"]
    pair = match_nodes(pair_graphs(original, compressed))
    scales = FinerScales(pair, {})
    assert scales.possible == [0]
    feed = {"x": RNG.normal(size=(CALLS, 3, WIDTH)).astype(np.float32)}
    feed["x"][..., 0] = 0  # what the large weight stands for is never there
    wanted = Session(original, "it").run(feed)["y"]
    before, after = (np.abs(outputs_of(pair, feed, s) - wanted).mean() for s in (None, scales))
    assert after < before / 3


@EXACT
@pytest.mark.parametrize("kind", ["MatMul", "Gemm", "Conv"])
def test_dynamically_quantised_nodes_get_scales_for_each_channel(tmp_path, kind):
    shape = {"MatMul": (8, 3), "Gemm": (3, 8), "Conv": (3, 8, 1)}[kind]
    attributes = "<transB = 1>" if kind == "Gemm" else ""
    more = [1] if kind == "Conv" else []
    ends = "(float[n,8,1] x) => (float[n,3,1] y)" if more else "(float[n,8] x) => (float[n,3] y)"
    original = onnx_model(f"{ends} {{ [it] y = {kind} {attributes} (x, w) }}", w=spoilt(*shape))
    pair = match_nodes(pair_graphs(original, dynamically(original, tmp_path)))
    scales = FinerScales(pair, {})
    assert scales.possible == [0]
    feed = {"x": RNG.normal(size=(1, 8, *more)).astype(np.float32)}
    wanted = Session(original, "it").run(feed)["y"]
    before, after = (
        np.abs(outputs_of(pair, feed, s) - wanted)[0, 1:].max() for s in (None, scales)
    )
    assert after < before / 5


#: Nodes that make weights of dequantised integers, and how these are stored.
WAYS = {
    "turned": ("w = Transpose <perm = [1, 0]> (d)", lambda levels: levels.T),
    "reshaped": (
        "e = Reshape (d, shape) w = Transpose (e)",
        lambda levels: levels.T.reshape(3, 2, 4),
    ),
    "cast": ("w = Cast <to = 1> (d)", lambda levels: levels),
}


@pytest.mark.parametrize("way", WAYS)
def test_weights_behind_moves_and_casts_are_candidates(way):
    weights = spoilt(8, 3)
    scale = 50 / 127
    levels = np.clip(np.rint(weights / scale), -127, 127).astype(np.int8)
    nodes, store = WAYS[way]
    constants = {"q": store(levels), "s": np.float32(scale), "z": np.int8(0)}
    constants["shape"] = np.int64([3, 8])
    compressed = product(f"d = DequantizeLinear (q, s, z) {nodes}", **constants)
    pair = match_nodes(pair_graphs(product(w=weights), compressed))
    assert [node.name for node in pair.nodes] == ["product"]
    graph = pair.opened.compressed
    assert constant_value(graph, "w") == pytest.approx(levels * np.float64(np.float32(scale)))
    scales = FinerScales(pair, {})
    assert scales.possible == [0]
    feed = {"x": np.eye(8, dtype=np.float32)}
    given, finer = (outputs_of(pair, feed, s) for s in (None, scales))
    assert np.abs(given - weights)[:, 1:].max() > 0.05
    assert np.abs(finer - weights)[:, 1:].max() < 0.01


def test_pruned_floats_behind_a_turn_are_found():
    def turned(weights):
        return product("w = Transpose (v)", v=weights.T)

    weights = spoilt(8, 3)
    pruned = np.where(np.abs(weights) < 0.2, 0, weights).astype(np.float32)
    pair = match_nodes(pair_graphs(turned(weights), turned(pruned)))
    assert [node.name for node in pair.nodes] == ["product"]
    assert not match_nodes(pair_graphs(turned(weights), turned(weights))).nodes


@EXACT
@pytest.mark.parametrize("how", ["per_tensor", "qoperator", "dynamic"])
@pytest.mark.parametrize("opset", [11, 12])
def test_files_of_old_operator_sets_get_scales_of_channels(how, opset):
    original, compressed = model(trained("convolutional")), model(quantised("convolutional", how))
    newer = match_nodes(pair_graphs(original, compressed))
    for one in (original, compressed):
        next(e for e in one.opset_import if e.domain in ("", "ai.onnx")).version = opset
    feeds = [{"images": RNG.random((1, 1, 8, 8)).astype(np.float32)}]
    older = match_nodes(pair_graphs(original, compressed))
    assert own_opset(older.opened.compressed.model) == 13
    assert [n.name for n in older.nodes] == [n.name for n in newer.nodes]
    scales = FinerScales(older, collect_observed_values(older, feeds))
    assert scales.possible
    finer = outputs_of(older, feeds[0], scales)
    wanted = Session(trained("convolutional"), "it").run(feeds[0])["logits"]
    assert np.abs(finer - wanted).max() < 0.1 * np.abs(wanted).max()


def test_the_range_of_a_softmax_stays_as_its_kernel_needs_it():
    """ONNX Runtime's kernel of integers knows one scale, and answers nonsense with another."""
    weights = RNG.normal(0, 0.02, (8, 3)).astype(np.float32)
    text = """(float[n,8] x) => (float[n,3] y) {
        [product] h = MatMul (x, w)
        [softmax] y = Softmax (h)
    }"""
    original = onnx_model(text, w=weights)
    text = """(float[n,8] x) => (float[n,3] y) {
        xq = QuantizeLinear (x, sx, zx)
        xf = DequantizeLinear (xq, sx, zx)
        wf = DequantizeLinear (q, sw, zw)
        [product] h = MatMul (xf, wf)
        hq = QuantizeLinear (h, sh, zh)
        hf = DequantizeLinear (hq, sh, zh)
        [softmax] p = Softmax (hf)
        pq = QuantizeLinear (p, sp, zx)
        y = DequantizeLinear (pq, sp, zx)
    }"""
    scales = {"sx": 1 / 255, "sw": 0.001, "sh": 0.002, "sp": 1 / 256}
    constants = {name: np.float32(scale) for name, scale in scales.items()}
    constants |= {"zx": np.uint8(0), "zw": np.int8(0), "zh": np.uint8(128)}
    constants["q"] = np.clip(np.rint(weights / 0.001), -127, 127).astype(np.int8)
    pair = match_nodes(pair_graphs(original, onnx_model(text, **constants)))
    feed = {"x": RNG.random((16, 8)).astype(np.float32)}
    scales = FinerScales(pair, collect_observed_values(pair, batches(feed, 4)))
    wanted = Session(original, "it").run(feed)["y"]
    assert np.abs(outputs_of(pair, feed, scales) - wanted).max() < 0.02
