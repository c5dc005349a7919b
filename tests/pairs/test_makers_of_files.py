"""What makers of model files do to small files: types, scales, sizes and operators."""

import json
from collections import Counter

import flatbuffers
import numpy as np
import onnx
import onnxruntime
import pytest
from ai_edge_litert import schema_py_generated as schema
from onnx import TensorProto, helper, numpy_helper
from small_model_files import FEEDING, FILE, answers, convolution, make, save, write_safetensors

from asterism.core.messages.errors import UserError
from asterism.models.tensor_models.model import FileModel
from asterism.pairs.making.sentence_model import read_safetensors
from models.small_litert import LiteFile

RNG = np.random.default_rng(1)
FLOAT = TensorProto.FLOAT


def value(name, shape, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def two_operators(path):
    """A convolution and, behind it, a product with a matrix."""
    constants = {
        "w": RNG.normal(size=(4, 3, 3, 3)).astype(np.float32),
        "m": RNG.normal(size=(4, 5)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("GlobalAveragePool", ["c"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "m"], ["y"]),
    ]
    return save(path, nodes, [value("x", ["n", 3, 8, 8])], [value("y", ["n", 5])], constants)


def operators(path):
    return Counter(node.op_type for node in onnx.load(path).graph.node)


def constants(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}


def images(count):
    return RNG.normal(size=(count, 3, 8, 8)).astype(np.float32)


def static(path, tmp_path, feeds, **options):
    chosen = {"per_channel": False, "operators": []} | options
    return make("onnx_static_int8", path, tmp_path / "s.onnx", chosen, calibration=lambda: feeds)


@pytest.mark.parametrize(("per_channel", "shape"), [(True, (4,)), (False, ())])
def test_weights_have_a_scale_for_each_channel_where_asked(tmp_path, per_channel, shape):
    source = two_operators(tmp_path / "a.onnx")
    feeds = [{"x": images(1)}]
    made = constants(static(source, tmp_path, feeds, per_channel=per_channel))
    assert made["w_scale"].shape == shape
    assert made["w_quantized"].dtype == np.int8
    largest = np.abs(constants(source)["w"])
    largest = largest.max(axis=(1, 2, 3)) if per_channel else largest.max()
    assert made["w_scale"] == pytest.approx(largest / 127, rel=0.01)


@pytest.mark.parametrize("operator", ["Conv", "MatMul"])
def test_only_operators_that_are_named_are_quantised(tmp_path, operator):
    source = two_operators(tmp_path / "a.onnx")
    weights = {"Conv": "w", "MatMul": "m"}
    quantised = constants(static(source, tmp_path, [{"x": images(1)}], operators=[operator]))
    for kind, name in weights.items():
        assert (f"{name}_quantized" in quantised) == (kind == operator)
    dynamic = make("onnx_dynamic_int8", source, tmp_path / "d.onnx", {"operators": [operator]})
    integers = {"Conv": "ConvInteger", "MatMul": "MatMulInteger"}
    for kind, name in integers.items():
        assert operators(dynamic)[name] == (kind == operator)
        assert operators(dynamic)[kind] == (kind != operator)


def test_ranges_of_activations_are_those_of_the_calibration(tmp_path):
    source = two_operators(tmp_path / "a.onnx")
    feeds = [{"x": np.full((1, 3, 8, 8), v, np.float32)} for v in (-1.0, 3.0)]
    made = constants(static(source, tmp_path, feeds, per_channel=True))
    assert made["x_scale"] == pytest.approx(4 / 255, rel=1e-3)


def test_dynamic_weights_are_bytes_without_sign(tmp_path):
    source = two_operators(tmp_path / "a.onnx")
    made = make("onnx_dynamic_int8", source, tmp_path / "d.onnx", {"operators": []})
    found = constants(made)
    assert found["w_quantized"].dtype == found["m_quantized"].dtype == np.uint8
    assert operators(made)["ConvInteger"] == operators(made)["MatMulInteger"] == 1


def test_half_precision_keeps_the_types_of_inputs_and_outputs(tmp_path):
    source = two_operators(tmp_path / "a.onnx")
    made = make("onnx_half", source, tmp_path / "h.onnx")
    graph = onnx.load(made).graph
    types = {v.type.tensor_type.elem_type for v in (*graph.input, *graph.output)}
    assert types == {FLOAT}
    for name, values in constants(source).items():
        assert constants(made)[name].dtype == np.float16
        assert np.array_equal(constants(made)[name], values.astype(np.float16))


@pytest.mark.parametrize("name", ["onnx_static_int8", "onnx_dynamic_int8", "fixed_sizes"])
def test_a_file_that_is_no_model_is_one_line(tmp_path, name):
    (tmp_path / "a.onnx").write_bytes(b"no model")
    options = {
        "onnx_static_int8": {"per_channel": True, "operators": []},
        "onnx_dynamic_int8": {"operators": []},
        "fixed_sizes": {"sizes": {}, "opset": 13},
    }[name]
    with pytest.raises(UserError, match=r"a\.onnx"):
        make(name, tmp_path / "a.onnx", tmp_path / "b.onnx", options, calibration=lambda: [])


def test_weights_among_the_inputs_are_inputs_no_more(tmp_path):
    source = convolution(tmp_path / "a.onnx")
    model = onnx.load(source)
    model.graph.input.append(value("w", [4, 3, 3, 3]))
    model.graph.value_info.append(value("c", [7, 4, 99, 99]))
    onnx.save(model, source)
    options = {"sizes": {"x": [None, 3, 8, 10]}, "opset": 13}
    fixed = make("fixed_sizes", source, tmp_path / "b.onnx", options)
    graph = onnx.load(fixed).graph
    assert [v.name for v in graph.input] == ["x"]
    axes = graph.input[0].type.tensor_type.shape.dim
    assert [axis.dim_param or axis.dim_value for axis in axes] == ["N", 3, 8, 10]
    shapes = {
        v.name: [a.dim_param or a.dim_value for a in v.type.tensor_type.shape.dim]
        for v in graph.value_info
    }
    assert shapes["c"] == ["N", 4, 6, 8], "shapes of all tensors are inferred"
    fed = {"x": RNG.normal(size=(2, 3, 8, 10)).astype(np.float32)}
    assert answers(fixed, fed) == pytest.approx(answers(convolution_of(source), fed), abs=1e-5)


def convolution_of(path):
    """The file without the wrong shape in it, which ONNX Runtime would only warn of."""
    model = onnx.load(path)
    del model.graph.value_info[:]
    onnx.save(model, path)
    return path


@pytest.mark.parametrize(("opset", "expected"), [(11, 13), (13, 13), (17, 17)])
def test_an_operator_set_is_raised_and_never_lowered(tmp_path, opset, expected):
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    values = [value("x", ["n", 2])], [value("y", ["n", 2])]
    source = save(tmp_path / "a.onnx", nodes, *values, {}, opset=opset)
    options = {"sizes": {}, "opset": 13}
    model = onnx.load(make("fixed_sizes", source, tmp_path / "b.onnx", options))
    assert next(e.version for e in model.opset_import if not e.domain) == expected


def scaled(path, integers, scale):
    """A product with a matrix of integers times a scale."""
    nodes = [
        helper.make_node("Cast", ["w_q"], ["w_f"], to=FLOAT),
        helper.make_node("Mul", ["w_f", "w_scale"], ["w"]),
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Mul", ["h", "two"], ["y"]),
    ]
    values = {"w_q": integers, "w_scale": scale, "two": np.float32(2)}
    return save(path, nodes, [value("x", ["n", 3])], [value("y", ["n", 4])], values)


@pytest.mark.parametrize(
    ("shape", "axis"), [((1,), None), ((1, 1), None), ((3, 1), 0), ((1, 4), 1)]
)
def test_scales_keep_their_axis_as_qdq(tmp_path, shape, axis):
    integers = RNG.integers(-127, 128, (3, 4)).astype(np.int8)
    scale = RNG.uniform(0.01, 0.1, shape).astype(np.float32)
    source = scaled(tmp_path / "a.onnx", integers, scale)
    made = make("integer_weights_as_qdq", source, tmp_path / "b.onnx")
    assert operators(made) == {"DequantizeLinear": 1, "MatMul": 1, "Mul": 1}
    node = onnx.load(made).graph.node[0]
    assert list(node.input) == ["w_q", "w_scale"]
    assert {a.name: a.i for a in node.attribute} == ({} if axis is None else {"axis": axis})
    fed = {"x": RNG.normal(size=(5, 3)).astype(np.float32)}
    # Optimised, ONNX Runtime may compute such a product with integers of its own.
    plain = onnxruntime.SessionOptions()
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    found = onnxruntime.InferenceSession(made, plain).run(None, fed)[0]
    assert found == pytest.approx(answers(source, fed), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("noise", [0.0, 0.001])
def test_float_weights_are_those_that_differ_least(tmp_path, noise):
    weights = RNG.normal(size=(3, 4)).astype(np.float32)
    scale = np.float32([[np.abs(weights).max() / 127]])
    source = scaled(tmp_path / "a.onnx", np.rint(weights / scale).astype(np.int8), scale)
    tensors = {
        "vector": weights[0],
        "near": weights + np.float32(0.02),
        "right": weights + np.float32(noise),
        "nearer than far": weights + np.float32(0.01),
    }
    floats = write_safetensors(tmp_path / "f", tensors)
    made = make(
        "float_weights", source, tmp_path / "b.onnx", {"weights": FILE}, files={"f": floats}
    )
    assert np.array_equal(constants(made)["w"], tensors["right"])
    assert set(constants(made)) == {"w", "two"}
    assert operators(made) == {"MatMul": 1, "Mul": 1}
    assert answers(made, {"x": np.eye(3, dtype=np.float32)}) == pytest.approx(2 * tensors["right"])


@pytest.mark.parametrize(("share", "found"), [(0.04, True), (0.06, False)])
def test_weights_that_differ_by_a_twentieth_are_others(tmp_path, share, found):
    integers = np.full((3, 4), 100, np.int8)
    source = scaled(tmp_path / "a.onnx", integers, np.float32([[0.01]]))
    other = np.full((3, 4), 1 + share, np.float32)
    files = {"f": write_safetensors(tmp_path / "f", {"x": other})}
    if found:
        make("float_weights", source, tmp_path / "b.onnx", {"weights": FILE}, files=files)
        assert np.array_equal(constants(tmp_path / "b.onnx")["w"], other)
        return
    with pytest.raises(UserError, match="has weights that f lacks"):
        make("float_weights", source, tmp_path / "b.onnx", {"weights": FILE}, files=files)


def test_padding_has_no_part_in_the_mean_of_the_tokens(tmp_path):
    nodes = [helper.make_node("Gather", ["w", "ids"], ["hidden"])]
    names = [value(name, ["n", 4], TensorProto.INT64) for name in ("ids", "mask")]
    outputs = [value("hidden", ["n", 4, 3])]
    table = RNG.normal(size=(6, 3)).astype(np.float32)
    source = save(tmp_path / "a.onnx", nodes, names, outputs, {"w": table})
    options = {"mask": "mask", "hidden": "hidden"}
    made = make("mean_pooled", source, tmp_path / "b.onnx", options)
    ids = np.array([[1, 2, 3, 0], [4, 5, 0, 0]])
    found = answers(made, {"ids": ids, "mask": (ids > 0).astype(np.int64)})
    expected = np.stack([table[1:4].mean(axis=0), table[4:6].mean(axis=0)])
    assert found == pytest.approx(expected, rel=1e-5)
    (output,) = onnx.load(made).graph.output
    assert output.name == "sentence_embedding"
    axes = output.type.tensor_type.shape.dim
    assert [axis.dim_param or axis.dim_value for axis in axes] == ["N", 3]


def test_safetensors_of_other_types_are_left_out(tmp_path):
    facts = {
        "__metadata__": {"format": "pt"},
        "half": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]},
        "whole": {"dtype": "F32", "shape": [1, 2], "data_offsets": [4, 12]},
    }
    text = json.dumps(facts).encode()
    numbers = np.float32([1.5, -2]).tobytes()
    path = tmp_path / "f"
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"half" + numbers)
    found = read_safetensors(path)
    assert {name: v.tolist() for name, v in found.items()} == {"whole": [[1.5, -2.0]]}
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(UserError):
        read_safetensors(path)


#: Of each tensor of the quantised LiteRT file: its type, scales and zero points; an axis.
QUANTISED = {
    "x_q": ("INT8", [0.05], [3], 0),
    "w": ("INT8", [0.1, 0.02], [0, 0], 0),
    "b": ("INT32", [0.005, 0.001], [0, 0], 0),
    "h": ("INT8", [0.1], [-4], 0),
    "v": ("UINT8", [0.03], [128], 0),
    "y_q": ("INT8", [0.2], [0], 0),
}


def quantised_litert(path, weights, bias, further):
    """Two layers of integers, between a ``QUANTIZE`` and a ``DEQUANTIZE``, and a ``RESHAPE``."""
    file = LiteFile()
    file.graph(
        {
            "x": (1, 3), "x_q": (1, 3), "w": weights, "b": bias, "h": (1, 2), "v": further,
            "y_q": (1, 2), "y": (1, 2), "sizes": np.array([1, 2], np.int32), "z": (1, 2),
        },
        [
            ("QUANTIZE", ["x"], ["x_q"]),
            ("FULLY_CONNECTED", ["x_q", "w", "b"], ["h"]),
            ("FULLY_CONNECTED", ["h", "v"], ["y_q"]),
            ("RESHAPE", ["y", "sizes"], ["z"]),
            ("DEQUANTIZE", ["y_q"], ["y"]),
        ],
        ["x"],
        ["z", "y"],
    )  # fmt: skip
    model = schema.ModelT.InitFromPackedBuf(file.write(path).read_bytes(), 0)
    graph = model.subgraphs[0]
    graph.operators[3:] = graph.operators[:2:-1]
    for tensor in graph.tensors:
        name = tensor.name.decode()
        if name == "sizes":
            tensor.type = schema.TensorType.INT32
        if name in QUANTISED:
            kind, scale, zero, axis = QUANTISED[name]
            tensor.type = getattr(schema.TensorType, kind)
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale, tensor.quantization.zeroPoint = scale, zero
            tensor.quantization.quantizedDimension = axis
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    return path


def test_integers_of_a_litert_file_become_the_floats_that_they_stand_for(tmp_path):
    weights = RNG.integers(-127, 128, (2, 3)).astype(np.int8)
    bias = RNG.integers(-1000, 1000, 2).astype(np.int32)
    further = RNG.integers(0, 256, (2, 2)).astype(np.uint8)
    source = quantised_litert(tmp_path / "a.tflite", weights, bias, further)
    made = make("litert_floats", source, tmp_path / "b.tflite")

    model = schema.ModelT.InitFromPackedBuf(made.read_bytes(), 0)
    graph = model.subgraphs[0]
    kinds = {t.name.decode(): t.type for t in graph.tensors}
    assert kinds.pop("sizes") == schema.TensorType.INT32, "they stand for nothing else"
    assert set(kinds.values()) == {schema.TensorType.FLOAT32}
    codes = [model.operatorCodes[node.opcodeIndex].builtinCode for node in graph.operators]
    dense, reshape = schema.BuiltinOperator.FULLY_CONNECTED, schema.BuiltinOperator.RESHAPE
    assert codes == [dense, dense, reshape]
    names = [t.name.decode() for t in graph.tensors]
    assert [names[number] for number in graph.outputs] == ["z", "y_q"]

    w = weights * np.array([[0.1], [0.02]])
    b = bias * np.array([0.005, 0.001])
    v = (further.astype(float) - 128) * 0.03
    items = RNG.normal(size=(4, 3)).astype(np.float32)
    found = FileModel(made, FEEDING, False, items).predict(items)
    expected = (items @ w.T + b) @ v.T
    assert found.reshape(4, -1)[:, :2] == pytest.approx(expected, rel=1e-4, abs=1e-4)
    with pytest.raises(UserError, match=r"a\.tflite"):
        source.write_bytes(b"TFL3 and nothing else")
        make("litert_floats", source, tmp_path / "c.tflite")
