"""Scales of 16 bits: which parts of a graph get them, and how few nodes do."""

import numpy as np
import pytest

from asterism.localisation.finer_scales import FinerScales, Precision
from asterism.localisation.graph import MICROSOFT
from asterism.localisation.hybrids import hybrid_model, serialise_checked
from asterism.localisation.quantised_nodes import match_nodes
from asterism.localisation.reading import pair_graphs
from asterism.localisation.repair import RepairCurve, RepairedFile, build_repair_curve
from asterism.localisation.running import Session, batches
from asterism.localisation.scales import collect_observed_values
from asterism.localisation.trials import TrialRunner
from onnx_texts import onnx_model

RNG = np.random.default_rng(0)
W = RNG.normal(size=(4, 3)).astype(np.float32) * np.float32([1, 5, 0.2])
X = RNG.normal(size=(64, 4)).astype(np.float32)


def stored(name, values, step):
    """Constants of a tensor quantised to 8 bits."""
    levels = np.clip(np.rint(values / step), -127, 127).astype(np.int8)
    return {f"{name}_q": levels, f"{name}_s": np.float32(step), f"{name}_z": np.int8(0)}


def dequantise(name):
    return f"{name} = DequantizeLinear ({name}_q, {name}_s, {name}_z)"


def quantisers(tensor, made):
    """Both nodes behind a tensor."""
    return f"""levels = QuantizeLinear ({tensor}, scale, zero)
        {made} = DequantizeLinear (levels, scale, zero)"""


def errors(pair, given, wanted):
    """The largest difference from the original, before and after."""
    feed = {"x": X}
    answers = [
        next(iter(Session(model, "it").run(feed).values()))
        for model in (hybrid_model(pair, ()), hybrid_model(given, ()), wanted)
    ]
    return [float(np.abs(answer - answers[2]).max()) for answer in answers[:2]]


def widened(original, compressed, precision):
    pair = match_nodes(pair_graphs(original, compressed))
    scales = FinerScales(pair, collect_observed_values(pair, batches({"x": X}, 16)), precision)
    return pair, scales.applied(scales.possible)


def product():
    return onnx_model("(float[n,4] x) => (float[n,3] y) { [product] y = MatMul (x, w) }", w=W)


def dynamic():
    """A product and its dynamically quantised version, as ONNX Runtime writes it."""
    compressed = """(float[n,4] x) => (float[n,3] y) {
        xq, xs, xz = DynamicQuantizeLinear (x)
        [product_quant] sum = MatMulInteger (xq, w_q, xz, w_z)
        real = Cast <to = 1> (sum)
        scale = Mul (xs, w_s)
        y = Mul (real, scale)
    }"""
    return product(), onnx_model(compressed, **stored("w", W, 0.1))


def test_a_dynamic_product_gets_an_input_of_16_bits_and_keeps_integers():
    original, compressed = dynamic()
    pair, both = widened(original, compressed, Precision(16, 16))
    model = hybrid_model(both, ())
    operators = [node.op_type for node in model.graph.node]
    assert sorted(operators) == [*["DequantizeLinear"] * 2, "MatMul", "QuantizeLinear"]
    assert {node.domain for node in model.graph.node if node.op_type != "MatMul"} == {MICROSOFT}
    assert {tensor.name for tensor in model.graph.output} == {"y"}
    before, after = errors(pair, both, original)
    assert after < 0.001 < 0.1 < before
    serialise_checked(model, "it")
    _, weights_of_8 = widened(original, compressed, Precision(16, 8))
    assert after < errors(pair, weights_of_8, original)[1] < before


def test_constants_of_sums_get_16_bits_with_the_outputs():
    """A step of a quantised constant is as harmful as one of an output."""
    shift = np.float32([0.01, -3.0, 0.5, 1.7])
    original = onnx_model("(float[n,4] x) => (float[n,4] y) { [sum] y = Add (x, b) }", b=shift)
    text = f"""(float[n,4] x) => (float[n,4] y) {{
        {dequantise("b")}
        [sum] y_float = Add (x, b)
        {quantisers("y_float", "y")}
    }}"""
    constants = stored("b", shift, 0.05)
    compressed = onnx_model(text, **constants, scale=np.float32(0.06), zero=np.uint8(128))
    pair, wide = widened(original, compressed, Precision(16))
    graph = wide.opened.compressed
    assert graph.value(graph.maker_of("b").input[0]).dtype == np.int16
    before, after = errors(pair, wide, original)
    assert after < 0.001 < 0.02 < before


def test_a_range_that_stands_for_a_clip_stays_that_of_the_clip():
    """With room above it, values beyond the clip would pass."""
    text = """(float[n,4] x) => (float[n,4] y) {{
        [sum] h = Add (x, x)
        {}
        [negative] y = Neg ({})
    }}"""
    clip, quantised = "[clip] r = Clip (h, low, high)", quantisers("h", "clipped")
    original = onnx_model(text.format(clip, "r"), low=np.float32(0), high=np.float32(1))
    facts = {"scale": np.float32(1 / 255), "zero": np.uint8(0)}
    compressed = onnx_model(text.format(quantised, "clipped"), **facts)
    pair, wide = widened(original, compressed, Precision(16))
    before, after = errors(pair, wide, original)
    assert after < 1e-4 < before


def test_ranges_without_observed_values_are_divided_finer():
    """A tensor of the compressed graph alone keeps its range, with steps of a 257th."""
    text = f"""(float[n,4] x) => (float[n,3] y) {{
        [copy] copy = Identity (x)
        {quantisers("copy", "taken")}
        {dequantise("w")}
        [product] y = MatMul (taken, w)
    }}"""
    constants = stored("w", W, 0.1)
    compressed = onnx_model(text, **constants, scale=np.float32(0.05), zero=np.uint8(100))
    _, wide = widened(product(), compressed, Precision(16, 16))
    graph = wide.opened.compressed
    scale, zero = (graph.value(name) for name in graph.maker_of("taken").input[1:])
    assert scale == pytest.approx(0.05 / 257) and zero.dtype == np.uint16
    assert float(scale) * (0 - int(zero)) == pytest.approx(0.05 * (0 - 100))
    assert float(scale) * (65535 - int(zero)) == pytest.approx(0.05 * (255 - 100))


def test_a_table_of_vectors_gets_a_scale_for_each_of_them():
    table = RNG.normal(size=(9, 4)).astype(np.float32) * np.arange(1, 10, dtype=np.float32)[:, None]
    text = """(float[n,4] x) => (float[n,4] y) {{
        {}
        row = ArgMax <axis = 1, keepdims = 0> (x)
        [vectors] y = Gather (table, row)
    }}"""
    original = onnx_model(text.format(""), table=table)
    compressed = onnx_model(text.format(dequantise("table")), **stored("table", table, 0.2))
    pair, finer = widened(original, compressed, Precision(8, 8))
    graph = finer.opened.compressed
    assert graph.value(graph.maker_of("table").input[1]).shape == (9,)
    before, after = errors(pair, finer, original)
    assert after < 0.5 * before


# ---- how many nodes get weights of 16 bits


def difference(original, compressed):
    (name,) = original
    return np.square(original[name].astype(np.float64) - compressed[name]).sum(axis=1)


def test_as_few_nodes_as_are_enough_get_weights_of_16_bits():
    """Two of six products have weights of any size, which cancel out, in each channel."""
    weights = [RNG.normal(size=(6, 6)).astype(np.float32) / 2 for _ in range(6)]
    for number in (1, 3):
        weights[number][:, 1] = weights[number][:, 0]
        weights[number + 1][:2] = [[300.0], [-300.0]]
    products, stores, integers = "", "", {}
    for number, weight in enumerate(weights):
        products += f"[product{number}] h{number + 1} = MatMul (h{number}, w{number}) "
        stores += f"{dequantise(f'w{number}')} "
        integers |= stored(f"w{number}", weight, np.abs(weight).max() / 127)
    ends = "(float[n,6] h0) => (float[n,6] h6)"
    constants = {f"w{number}": weight for number, weight in enumerate(weights)}
    original = onnx_model(f"{ends} {{ {products} }}", **constants)
    pair = match_nodes(
        pair_graphs(original, onnx_model(f"{ends} {{ {stores} {products} }}", **integers))
    )
    feeds = batches({"h0": RNG.normal(size=(64, 6)).astype(np.float32)}, 16)
    curve = build_repair_curve(pair, feeds, difference, 12, most=1, enough=0.9)
    most = max(len(file.finest) for file in curve.files)
    assert most == len(pair.nodes) == 6
    chosen = curve.smallest(0.9, 0)
    assert {pair.nodes[i].name for i in chosen.finest} == {"product2", "product4"}
    assert chosen.size < max(file.size for file in curve.files if len(file.finest) == most)


def test_what_is_expected_falls_with_the_error_that_is_left():
    def file(gone, error, inputs=10**6):
        return RepairedFile((), (), 8, (), b"", gone, inputs, 0.0, error, 0.0)

    assert file(1.0, 0.0).expected == pytest.approx(1.0, abs=1e-5)
    assert file(1.0, 0.0, inputs=4).expected == pytest.approx(4.5 / 5)
    assert file(0.9, 0.0, inputs=20).expected == pytest.approx(18.5 / 21)
    assert file(0.0, 0.0, inputs=4).expected == file(0.0, 0.0, inputs=0).expected == 0.0
    assert file(-0.5, 0.0, inputs=4).expected == -0.5
    assert file(1.0, 0.04).expected == pytest.approx(0.8)
    assert file(0.5, 0.04).expected == 0.5
    assert file(1.0, 4.0).expected == -1.0
    curve = RepairCurve(None, None, [file(1.0, 0.04), file(0.95, 0.0001)], 0)
    assert curve.smallest(0.9) is curve.files[1]


def test_trials_see_what_the_runtime_quantises_by_itself():
    """ONNX Runtime rounds the inputs of products whose weights have a scale for each column."""
    weight = RNG.normal(size=(64, 32)).astype(np.float32)
    step = (np.abs(weight).max(axis=0) / 127).astype(np.float32)
    levels = np.rint(weight / step).astype(np.int8)
    text = "(float[n,64] x) => (float[n,32] y) {{ {} [product] y = MatMul (x, w) }}"
    store = "w = DequantizeLinear <axis = 1> (levels, step, zeros)"
    zeros = np.zeros(32, np.int8)
    compressed = onnx_model(text.format(store), levels=levels, step=step, zeros=zeros)
    pair = match_nodes(pair_graphs(onnx_model(text.format(""), w=weight), compressed))
    items = RNG.normal(size=(40, 64)).astype(np.float32)
    feeds = batches({"x": items}, 20)
    runner = TrialRunner(pair, feeds, difference)
    stored_only = np.square(items.astype(np.float64) @ (levels * step - weight)).sum()
    assert runner.base.deviation > 1.2 * stored_only
    trial, _ = runner.run([0])
    assert trial.deviation < 1e-6 * stored_only
    scales = FinerScales(pair, collect_observed_values(pair, feeds), Precision(16, 16))
    finest = hybrid_model(scales.applied(scales.possible), ())
    assert runner.judge(frozenset(), runner.outputs(finest, "it")).deviation < 1e-3 * stored_only
