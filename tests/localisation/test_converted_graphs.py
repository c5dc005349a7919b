"""What is done to a graph that was converted from a LiteRT file, on graphs written by hand."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from written_graphs import constant, net, value

from asterism.core.messages.errors import UserError
from asterism.localisation import conversion
from asterism.localisation.conversion import as_onnx, convert

W = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
B = np.float32([1, 0, -1])


def run(model, x):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {"x": x})[0]


def values_of(model):
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}


def dense(attributes=None, weights=W, bias=B, more=()):
    names = ["x", "w", "b"] if bias is not None else ["x", "w"]
    node = helper.make_node("Gemm", names, ["y"], "dense", **(attributes or {}))
    constants = [constant("w", weights)] + ([] if bias is None else [constant("b", bias)])
    return net([node, *more], [value("x", 1, 2)], [value("y", 1, 3)], constants)


@pytest.mark.parametrize(
    ("attributes", "weights", "bias", "operators"),
    [
        ({}, W, B, ["MatMul", "Add"]),
        ({"transB": 1}, W.T.copy(), B, ["MatMul", "Add"]),
        ({"alpha": 1.0, "beta": 1.0}, W, B, ["MatMul", "Add"]),
        ({}, W, None, ["MatMul"]),
        ({}, W, 0 * B, ["MatMul"]),
        ({"alpha": 2.0}, W, B, ["Gemm"]),
        ({"beta": 0.5}, W, B, ["Gemm"]),
    ],
)
def test_dense_layers_are_products_and_sums(attributes, weights, bias, operators):
    model = dense(attributes, weights, bias)
    x = np.float32([[1, -2]])
    wanted = run(model, x)
    conversion._split_dense_layers(model.graph)
    onnx.checker.check_model(model)
    assert [node.op_type for node in model.graph.node] == operators
    assert model.graph.node[0].name == "dense"
    assert model.graph.node[-1].output[0] == "y"
    assert run(model, x).tolist() == wanted.tolist()


def test_a_dense_layer_of_computed_weights_stays():
    node = helper.make_node("Gemm", ["x", "w2", "b"], ["y"], "dense")
    turned = helper.make_node("Neg", ["w"], ["w2"])
    constants = [constant("w", W), constant("b", B)]
    model = net([turned, node], [value("x", 1, 2)], [value("y", 1, 3)], constants)
    conversion._split_dense_layers(model.graph)
    assert [part.op_type for part in model.graph.node] == ["Neg", "Gemm"]


def reshaped(batch, sizes):
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    output = value("y", *[n or batch for n in sizes])
    return net([node], [value("x", batch, 4)], [output], [constant("shape", np.int64(sizes))])


@pytest.mark.parametrize("batch", [1, 0])
def test_a_file_for_one_item_takes_any_number(batch):
    model = reshaped(batch, [1, 2, 2])
    model.graph.value_info.append(value("y2", 1))
    conversion._free_batch(model.graph)
    onnx.checker.check_model(model)
    assert not model.graph.value_info
    for part in (*model.graph.input, *model.graph.output):
        assert part.type.tensor_type.shape.dim[0].dim_param == "batch"
    assert values_of(model)["shape"].tolist() == [0, 2, 2]
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert run(model, x).tolist() == x.reshape(3, 2, 2).tolist()


def test_only_reshaping_to_one_item_of_several_axes_is_changed():
    for sizes in ([2, 2, 1], [-1, 4], [4]):
        model = reshaped(1, sizes)
        conversion._free_batch(model.graph)
        assert values_of(model)["shape"].tolist() == sizes
    model = reshaped(1, [1, 4])
    model.graph.node[0].op_type = "Expand"
    conversion._free_batch(model.graph)
    assert values_of(model)["shape"].tolist() == [1, 4]


@pytest.mark.parametrize("shape", [(2, 4), ()])
def test_a_file_for_a_fixed_number_of_items_stays(shape):
    model = net([], [value("x", *shape)], [value("x", *shape)], [])
    before = model.SerializeToString()
    assert conversion._leading(model.graph.input[0]) == (shape[0] if shape else -1)
    conversion._free_batch(model.graph)
    assert model.SerializeToString() == before


def dequantising(values, zero, operator="DequantizeLinear"):
    constants = [constant("w", values), constant("s", np.float32(0.5)), constant("z", zero)]
    node = helper.make_node(operator, ["w", "s", "z"], ["y"])
    return net([node], [], [value("y", 3)], constants)


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (dequantising(np.uint8([1, 200, 255]), np.uint8(0)), True),
        (dequantising(np.uint8([1, 200, 255]), np.uint8(1)), False),
        (dequantising(np.int8([1, -100, 3]), np.int8(0)), False),
        (dequantising(np.uint8([1, 200, 255]), np.uint8(0), "Other"), False),
    ],
)
def test_bytes_about_zero_are_read_with_their_sign(model, changes):
    before = values_of(model)
    conversion._read_bytes_with_sign(model.graph)
    found = values_of(model)
    if not changes:
        assert all((found[n] == v).all() and found[n].dtype == v.dtype for n, v in before.items())
        return
    assert found["w"].tolist() == [1, -56, -1]
    assert (found["w"].dtype, found["z"].dtype) == (np.int8, np.int8)
    onnx.checker.check_model(model)


def test_weights_without_a_zero_point_and_computed_ones_are_left():
    model = dequantising(np.uint8([1, 200, 255]), np.uint8(0))
    del model.graph.node[0].input[2]
    conversion._read_bytes_with_sign(model.graph)
    assert values_of(model)["w"].tolist() == [1, 200, 255]
    model = dequantising(np.uint8([1, 200, 255]), np.uint8(0))
    model.graph.node[0].input[0] = "x"
    conversion._read_bytes_with_sign(model.graph)
    assert values_of(model)["z"].dtype == np.uint8


def test_nodes_are_named_by_their_first_layer_and_never_alike():
    names = ["a;b", "a;c", "d", "a_2", "a"]
    model = net([helper.make_node("Neg", ["x"], [f"y{n}"], name) for n, name in enumerate(names)],
                [value("x", 1)], [value("y0", 1)], [])  # fmt: skip
    conversion._shorten_names(model.graph)
    assert [node.name for node in model.graph.node] == ["a", "a_2", "d", "a_2_2", "a_3"]


def test_tensors_that_a_converter_counted_have_names_of_their_own():
    make = helper.make_node
    nodes = [
        make("Neg", ["x"], ["a/Relu__17:0"]),
        make("Abs", ["a/Relu__17:0"], ["b__2"]),
        make("Neg", ["b__2"], ["plain"]),
        make("Abs", ["plain"], ["y__3"]),
    ]
    model = net(nodes, [value("x", 1)], [value("y__3", 1)])
    conversion._mark_counted_tensors(model.graph, "ab")
    made = [node.output[0] for node in model.graph.node]
    assert made == ["a/Relu__17:0@ab", "b__2@ab", "plain", "y__3"]
    assert [node.input[0] for node in model.graph.node] == ["x", *made[:3]]


@pytest.fixture
def converter(monkeypatch):
    """What tf2onnx is asked, and answers with: a dense layer for one item, under merged names."""
    asked = []

    def from_tflite(path, opset):
        asked.append((path, Path(path).read_bytes(), opset))
        model = dense()
        model.graph.node[0].name = "dense;bias"
        return model, None

    fake = SimpleNamespace(convert=SimpleNamespace(from_tflite=from_tflite))
    monkeypatch.setitem(sys.modules, "tf2onnx", fake)
    monkeypatch.setattr(
        conversion, "read_litert", lambda path: (asked.append(path), path.read_bytes())[1]
    )
    monkeypatch.setattr(conversion, "load_keras", lambda path: f"read {path.name}")
    monkeypatch.setattr(conversion, "convertible", lambda content, name: content + b", opened")
    monkeypatch.setattr(conversion, "_lite", lambda model: f"lite of {model}".encode())
    return asked


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.tflite", b"lite, opened"),
        ("m.lite", b"lite, opened"),
        ("m.keras", b"lite of read m.keras, opened"),
        ("m.h5", b"lite of read m.h5, opened"),
    ],
)
def test_a_conversion_is_checked_first_and_mended_after(tmp_path, converter, name, content):
    source, target = tmp_path / name, tmp_path / "out.onnx"
    source.write_bytes(b"lite")
    convert(source, target)
    checked, (path, given, opset) = converter
    assert checked == source if "lite" in source.suffix else checked.suffix == ".tflite"
    assert (Path(path).name, given, opset) == ("opened.tflite", content, 17)
    model = onnx.load(target)
    assert [node.name for node in model.graph.node] == ["dense", "dense_2"]
    assert (
        run(model, np.float32([[1, -2], [0, 1]])).tolist()
        == (np.float32([[1, -2], [0, 1]]) @ W + B).tolist()
    )


class Process:
    """Stands for the process of a conversion: how it ends, and what it says."""

    def __init__(self, monkeypatch, status, said):
        self.asked, self._status, self._said = [], status, said
        monkeypatch.setattr(conversion, "run_alone", self.run)

    def run(self, command, seconds, *, stdout, stderr):
        self.asked.append((command, seconds, stdout))
        stderr.write(self._said)
        return self._status


def test_files_are_converted_in_a_process_of_their_own(tmp_path, monkeypatch):
    process = Process(monkeypatch, 0, "a warning")
    source, target = tmp_path / "m.tflite", tmp_path / "to" / "m.tflite.onnx"
    assert as_onnx(source, tmp_path / "to") == target
    ((command, seconds, stdout),) = process.asked
    module = "asterism.localisation.conversion"
    assert command == [sys.executable, "-P", "-m", module, str(source), str(target)]
    assert (seconds, stdout) == (600, subprocess.DEVNULL)
    assert as_onnx(tmp_path / "m.onnx", tmp_path) == tmp_path / "m.onnx"
    assert len(process.asked) == 1


@pytest.mark.parametrize(
    ("status", "said", "why"),
    [
        (
            1,
            "Traceback (most recent call last):\n  File x\nValueError: no such operator\n",
            "no such",
        ),
        (3, "", "it ended with status 3"),
        (None, "slow\n", "that took more than 600 s"),
    ],
)
def test_a_conversion_that_fails_says_why(tmp_path, monkeypatch, status, said, why):
    Process(monkeypatch, status, said)
    with pytest.raises(UserError, match=rf"^m\.tflite cannot be converted to ONNX: .*{why}"):
        as_onnx(tmp_path / "m.tflite", tmp_path)


@pytest.mark.parametrize("count", [1, 2])
def test_a_keras_model_is_converted_for_one_item(monkeypatch, count):
    asked = []
    keras = SimpleNamespace(
        Input=lambda batch_shape, dtype, name: (batch_shape, dtype, name),
        Model=lambda inputs, outputs: (inputs, outputs),
    )

    def from_keras_model(model):
        asked.append(model)
        return SimpleNamespace(convert=lambda: b"lite")

    converter = SimpleNamespace(from_keras_model=from_keras_model)
    lite = SimpleNamespace(TFLiteConverter=converter)
    monkeypatch.setitem(sys.modules, "keras", keras)
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(lite=lite))

    class Model:
        inputs = tuple(SimpleNamespace(shape=(None, 4, n), dtype="float32") for n in range(count))

        def __call__(self, given):
            return "called", given

    assert conversion._lite(Model()) == b"lite"
    given = [((1, 4, n), "float32", f"input_{n}") for n in range(count)]
    assert asked == [(given, ("called", given if count > 1 else given[0]))]
