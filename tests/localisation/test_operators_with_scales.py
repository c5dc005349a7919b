"""Operators that quantise weights in ways of their own, and weights behind other nodes."""

import numpy as np
import onnx
import pytest
from onnx import helper
from onnxruntime.quantization import quantize_dynamic
from quantised_networks import model, quantised, trained
from written_graphs import constant, net, value

from asterism.localisation.finer_scales import FinerScales
from asterism.localisation.hybrids import checked, hybrid
from asterism.localisation.matching import constant_value
from asterism.localisation.quantised_nodes import match
from asterism.localisation.reading import pair_of
from asterism.localisation.running import Session, batches
from asterism.localisation.scales import observed_values

RNG = np.random.default_rng(3)
HIDDEN, WIDTH, CALLS = 6, 5, 4


def outputs_of(pair, feed, scales=None):
    """What the compressed model gives as it is, or with all possible finer scales."""
    finer = pair if scales is None else scales.applied(scales.possible)
    return next(iter(Session(checked(hybrid(finer, ()), "it"), "it").run(feed).values()))


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
    rows = 4 * HIDDEN
    constants = [
        constant("w", np.stack([spoilt(rows, WIDTH) for _ in range(directions)])),
        constant("r", np.stack([spoilt(rows, HIDDEN) for _ in range(directions)])),
    ]
    direction = "bidirectional" if directions == 2 else "forward"
    node = helper.make_node(
        "LSTM", ["x", "w", "r"], ["y"], "lstm", hidden_size=HIDDEN, direction=direction
    )
    shape = CALLS, directions, "n", HIDDEN
    return net([node], [value("x", CALLS, "n", WIDTH)], [value("y", *shape)], constants)


def product(weights):
    return net(
        [helper.make_node("MatMul", ["x", "w"], ["y"], "product")],
        [value("x", "n", 8)],
        [value("y", "n", 3)],
        [constant("w", weights)],
    )


@pytest.mark.parametrize("directions", [1, 2])
def test_a_layer_that_quantises_by_itself_gets_a_scale_for_each_channel(tmp_path, directions):
    original = recurrent(directions)
    compressed = dynamically(original, tmp_path)
    assert [node.op_type for node in compressed.graph.node] == ["DynamicQuantizeLSTM"]
    pair = match(pair_of(original, compressed))
    scales = FinerScales(pair, {})
    assert scales.possible == [0]
    feed = {"x": RNG.normal(size=(CALLS, 3, WIDTH)).astype(np.float32)}
    feed["x"][..., 0] = 0  # what the large weight stands for is never there
    wanted = Session(original, "it").run(feed)["y"]
    before, after = (np.abs(outputs_of(pair, feed, s) - wanted).mean() for s in (None, scales))
    assert after < before / 3


@pytest.mark.parametrize("kind", ["MatMul", "Gemm", "Conv"])
def test_dynamically_quantised_nodes_get_scales_for_each_channel(tmp_path, kind):
    shape = {"MatMul": (8, 3), "Gemm": (3, 8), "Conv": (3, 8, 1)}[kind]
    attributes = {"transB": 1} if kind == "Gemm" else {}
    more = [1] if kind == "Conv" else []
    original = net(
        [helper.make_node(kind, ["x", "w"], ["y"], "it", **attributes)],
        [value("x", "n", 8, *more)],
        [value("y", "n", 3, *more)],
        [constant("w", spoilt(*shape))],
    )
    pair = match(pair_of(original, dynamically(original, tmp_path)))
    scales = FinerScales(pair, {})
    assert scales.possible == [0]
    feed = {"x": RNG.normal(size=(1, 8, *more)).astype(np.float32)}
    wanted = Session(original, "it").run(feed)["y"]
    before, after = (
        np.abs(outputs_of(pair, feed, s) - wanted)[0, 1:].max() for s in (None, scales)
    )
    assert after < before / 5


def behind(nodes, stored, scale, **attributes):
    """``y = x·w``, where other nodes make ``w`` of dequantised integers."""
    made = helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"])
    moves = [helper.make_node(*one, **attributes.get(one[0], {})) for one in nodes]
    return net(
        [made, *moves, helper.make_node("MatMul", ["x", "w"], ["y"], "product")],
        [value("x", "n", 8)],
        [value("y", "n", 3)],
        [
            constant("q", stored),
            constant("s", np.float32(scale)),
            constant("z", np.int8(0)),
            constant("shape", np.int64([3, 8])),
        ],
    )


@pytest.mark.parametrize("way", ["turned", "reshaped", "cast"])
def test_weights_behind_moves_and_casts_are_candidates(way):
    weights = spoilt(8, 3)
    scale = 50 / 127
    levels = np.clip(np.rint(weights / scale), -127, 127).astype(np.int8)
    if way == "turned":
        nodes = [("Transpose", ["d"], ["w"])]
        compressed = behind(nodes, levels.T, scale, Transpose={"perm": [1, 0]})
    elif way == "reshaped":
        nodes = [("Reshape", ["d", "shape"], ["e"]), ("Transpose", ["e"], ["w"])]
        compressed = behind(nodes, levels.T.reshape(3, 2, 4), scale)
    else:
        nodes = [("Cast", ["d"], ["w"])]
        compressed = behind(nodes, levels, scale, Cast={"to": onnx.TensorProto.FLOAT})
    pair = match(pair_of(product(weights), compressed))
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
        return net(
            [
                helper.make_node("Transpose", ["v"], ["w"]),
                helper.make_node("MatMul", ["x", "w"], ["y"], "product"),
            ],
            [value("x", "n", 8)],
            [value("y", "n", 3)],
            [constant("v", weights.T)],
        )

    weights = spoilt(8, 3)
    pruned = np.where(np.abs(weights) < 0.2, 0, weights).astype(np.float32)
    pair = match(pair_of(turned(weights), turned(pruned)))
    assert [node.name for node in pair.nodes] == ["product"]
    assert not match(pair_of(turned(weights), turned(weights))).nodes


@pytest.mark.parametrize("how", ["per_tensor", "qoperator", "dynamic"])
@pytest.mark.parametrize("opset", [11, 12])
def test_files_of_old_operator_sets_get_scales_of_channels(how, opset):
    original, compressed = model(trained("convolutional")), model(quantised("convolutional", how))
    newer = match(pair_of(original, compressed))
    for one in (original, compressed):
        next(e for e in one.opset_import if e.domain in ("", "ai.onnx")).version = opset
    feeds = [{"images": RNG.random((1, 1, 8, 8)).astype(np.float32)}]
    older = match(pair_of(original, compressed))
    assert older.opened.compressed.opset() == 13
    assert [n.name for n in older.nodes] == [n.name for n in newer.nodes]
    scales = FinerScales(older, observed_values(older, feeds))
    assert scales.possible
    finer = outputs_of(older, feeds[0], scales)
    wanted = Session(trained("convolutional"), "it").run(feeds[0])["logits"]
    assert np.abs(finer - wanted).max() < 0.1 * np.abs(wanted).max()


def test_the_range_of_a_softmax_stays_as_its_kernel_needs_it():
    """ONNX Runtime's kernel of integers knows one scale, and answers nonsense with another."""
    original = net(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"], "product"),
            helper.make_node("Softmax", ["h"], ["y"], "softmax"),
        ],
        [value("x", "n", 8)],
        [value("y", "n", 3)],
        [constant("w", RNG.normal(0, 0.02, (8, 3)).astype(np.float32))],
    )
    levels = np.rint(
        constant_value(match(pair_of(original, original)).opened.original, "w") / 0.001
    )
    quantise, dequantise = "QuantizeLinear", "DequantizeLinear"
    nodes = [
        helper.make_node(quantise, ["x", "sx", "zx"], ["xq"]),
        helper.make_node(dequantise, ["xq", "sx", "zx"], ["xf"]),
        helper.make_node(dequantise, ["q", "sw", "zw"], ["wf"]),
        helper.make_node("MatMul", ["xf", "wf"], ["h"], "product"),
        helper.make_node(quantise, ["h", "sh", "zh"], ["hq"]),
        helper.make_node(dequantise, ["hq", "sh", "zh"], ["hf"]),
        helper.make_node("Softmax", ["hf"], ["p"], "softmax"),
        helper.make_node(quantise, ["p", "sp", "zx"], ["pq"]),
        helper.make_node(dequantise, ["pq", "sp", "zx"], ["y"]),
    ]
    constants = {
        "sx": np.float32(1 / 255),
        "zx": np.uint8(0),
        "q": np.clip(levels, -127, 127).astype(np.int8),
        "sw": np.float32(0.001),
        "zw": np.int8(0),
        "sh": np.float32(0.002),
        "zh": np.uint8(128),
        "sp": np.float32(1 / 256),
    }
    compressed = net(
        nodes,
        [value("x", "n", 8)],
        [value("y", "n", 3)],
        [constant(name, values) for name, values in constants.items()],
    )
    pair = match(pair_of(original, compressed))
    feed = {"x": RNG.random((16, 8)).astype(np.float32)}
    scales = FinerScales(pair, observed_values(pair, batches(feed, 4)))
    wanted = Session(original, "it").run(feed)["y"]
    assert np.abs(outputs_of(pair, feed, scales) - wanted).max() < 0.02
