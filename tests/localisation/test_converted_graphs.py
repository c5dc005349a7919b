"""What is done to a graph that was converted from a LiteRT file, on graphs written by hand."""

import hashlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from written_graphs import net, value

from asterism.core.messages.errors import UserError
from asterism.localisation import conversion
from asterism.localisation.conversion import as_onnx, convert
from onnx_texts import onnx_model

W = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
B = np.float32([1, 0, -1])


def run(model, x):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {"x": x})[0]


def values_of(model):
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}


def dense(attributes="", **constants):
    names = ", ".join(["x", *constants])
    text = f"(float[1,2] x) => (float[1,3] y) {{ [dense] y = Gemm {attributes} ({names}) }}"
    return onnx_model(text, **constants)


@pytest.fixture
def converter(monkeypatch):
    """What tf2onnx is asked, and the model that it answers with: a dense layer for one item."""

    def from_tflite(path, opset):
        asked.append((path, Path(path).read_bytes(), opset))
        return asked.model, None

    class Asked(list):
        model = dense(w=W, b=B)

    asked = Asked()
    fake = SimpleNamespace(convert=SimpleNamespace(from_tflite=from_tflite))
    monkeypatch.setitem(sys.modules, "tf2onnx", fake)
    monkeypatch.setattr(
        conversion, "read_litert", lambda path: (asked.append(path), path.read_bytes())[1]
    )
    monkeypatch.setattr(conversion, "make_convertible", lambda content, name: content + b", opened")
    return asked


@pytest.fixture
def mended(converter, tmp_path):
    """A conversion in which tf2onnx gave this graph."""

    def convert_to(model):
        converter.model = onnx.ModelProto.FromString(model.SerializeToString())
        (tmp_path / "m.tflite").write_bytes(b"lite")
        convert(tmp_path / "m.tflite", tmp_path / "m.onnx")
        return onnx.load(tmp_path / "m.onnx")

    return convert_to


@pytest.mark.parametrize(
    ("attributes", "constants", "operators"),
    [
        ("", {"w": W, "b": B}, ["MatMul", "Add"]),
        ("<transB = 1>", {"w": W.T, "b": B}, ["MatMul", "Add"]),
        ("<alpha = 1.0, beta = 1.0>", {"w": W, "b": B}, ["MatMul", "Add"]),
        ("", {"w": W}, ["MatMul"]),
        ("", {"w": W, "b": 0 * B}, ["MatMul"]),
        ("<alpha = 2.0>", {"w": W, "b": B}, ["Gemm"]),
        ("<beta = 0.5>", {"w": W, "b": B}, ["Gemm"]),
    ],
)
def test_dense_layers_are_products_and_sums(mended, attributes, constants, operators):
    given = dense(attributes, **constants)
    x = np.float32([[1, -2]])
    wanted = run(given, x)
    model = mended(given)
    assert [node.op_type for node in model.graph.node] == operators
    assert model.graph.node[0].name == "dense"
    assert model.graph.node[-1].output[0] == "y"
    assert run(model, x).tolist() == wanted.tolist()


def test_a_dense_layer_of_computed_weights_stays(mended):
    text = "(float[1,2] x) => (float[1,3] y) { w2 = Neg (w) [dense] y = Gemm (x, w2, b) }"
    model = mended(onnx_model(text, w=W, b=B))
    assert [part.op_type for part in model.graph.node] == ["Neg", "Gemm"]


def reshaped(batch, sizes):
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    output = value("y", *[n or batch for n in sizes])
    return net([node], [value("x", batch, 4)], [output], shape=np.int64(sizes))


@pytest.mark.parametrize("batch", [1, 0])
def test_a_file_for_one_item_takes_any_number(mended, batch):
    given = reshaped(batch, [1, 2, 2])
    given.graph.value_info.append(value("y2", 1))
    model = mended(given)
    assert not model.graph.value_info
    for part in (*model.graph.input, *model.graph.output):
        assert part.type.tensor_type.shape.dim[0].dim_param == "batch"
    assert values_of(model)["shape"].tolist() == [0, 2, 2]
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert run(model, x).tolist() == x.reshape(3, 2, 2).tolist()


def test_only_reshaping_to_one_item_of_several_axes_is_changed(mended):
    for sizes in ([2, 2, 1], [-1, 4], [4]):
        assert values_of(mended(reshaped(1, sizes)))["shape"].tolist() == sizes
    model = reshaped(1, [1, 4])
    model.graph.node[0].op_type = "Expand"
    assert values_of(mended(model))["shape"].tolist() == [1, 4]


@pytest.mark.parametrize("shape", [(2, 4), ()])
def test_a_file_for_a_fixed_number_of_items_stays(mended, shape):
    node = helper.make_node("Neg", ["x"], ["y"], "same")
    model = net([node], [value("x", *shape)], [value("y", *shape)])
    assert mended(model) == model


def dequantising(values, zero):
    text = "() => (float[3] y) { y = DequantizeLinear (w, s, z) }"
    return onnx_model(text, w=values, s=np.float32(0.5), z=zero)


def without_zero(model):
    del model.graph.node[0].input[2]
    return model


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (dequantising(np.uint8([1, 200, 255]), np.uint8(0)), True),
        (dequantising(np.uint8([1, 200, 255]), np.uint8(1)), False),
        (dequantising(np.int8([1, -100, 3]), np.int8(0)), False),
        (without_zero(dequantising(np.uint8([1, 200, 255]), np.uint8(0))), False),
    ],
)
def test_bytes_about_zero_are_read_with_their_sign(mended, model, changes):
    before, found = values_of(model), values_of(mended(model))
    if not changes:
        assert all((found[n] == v).all() and found[n].dtype == v.dtype for n, v in before.items())
        return
    assert found["w"].tolist() == [1, -56, -1]
    assert (found["w"].dtype, found["z"].dtype) == (np.int8, np.int8)


def test_nodes_are_named_by_their_first_layer_and_never_alike(mended):
    names = ["a;b", "a;c", "d", "a_2", "a"]
    nodes = [helper.make_node("Neg", ["x"], [f"y{n}"], name) for n, name in enumerate(names)]
    model = net(nodes, [value("x", 1)], [value("y0", 1)])
    assert [node.name for node in mended(model).graph.node] == ["a", "a_2", "d", "a_2_2", "a_3"]


def test_tensors_that_a_converter_counted_have_names_of_their_own(mended):
    text = """(float[1] x) => (float[1] y__3) {
        "a/Relu__17:0" = Neg (x)
        b__2 = Abs ("a/Relu__17:0")
        plain = Neg (b__2)
        y__3 = Abs (plain)
    }"""
    model = mended(onnx_model(text))
    made = [node.output[0] for node in model.graph.node]
    mark = hashlib.sha256(b"lite").hexdigest()[:8]
    assert made == [f"a/Relu__17:0@{mark}", f"b__2@{mark}", "plain", "y__3"]
    assert [node.input[0] for node in model.graph.node] == ["x", *made[:3]]


@pytest.mark.parametrize("suffix", [".tflite", ".lite"])
def test_a_file_is_read_with_care_before_it_is_converted(tmp_path, converter, suffix):
    source, target = tmp_path / f"m{suffix}", tmp_path / "out.onnx"
    source.write_bytes(b"lite")
    convert(source, target)
    checked, (path, given, opset) = converter
    assert checked == source
    assert (Path(path).name, given, opset) == ("opened.tflite", b"lite, opened", 17)
    model = onnx.load(target)
    items = np.float32([[1, -2], [0, 1]])
    assert run(model, items).tolist() == (items @ W + B).tolist()


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


@pytest.mark.parametrize(("suffix", "count"), [(".keras", 1), (".h5", 2)])
def test_a_keras_model_is_converted_for_one_item(tmp_path, monkeypatch, converter, suffix, count):
    asked = []
    keras = SimpleNamespace(
        Input=lambda batch_shape, dtype, name: (batch_shape, dtype, name),
        Model=lambda inputs, outputs: (inputs, outputs),
    )

    def from_keras_model(model):
        asked.append(model)
        return SimpleNamespace(convert=lambda: b"lite of keras")

    lite = SimpleNamespace(TFLiteConverter=SimpleNamespace(from_keras_model=from_keras_model))
    monkeypatch.setitem(sys.modules, "keras", keras)
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(lite=lite))

    class Model:
        inputs = tuple(SimpleNamespace(shape=(None, 4, n), dtype="float32") for n in range(count))

        def __call__(self, given):
            return "called", given

    monkeypatch.setattr(conversion, "load_keras", lambda _: Model())
    (tmp_path / f"m{suffix}").touch()
    convert(tmp_path / f"m{suffix}", tmp_path / "out.onnx")
    given = [((1, 4, n), "float32", f"input_{n}") for n in range(count)]
    assert asked == [(given, ("called", given if count > 1 else given[0]))]
    assert converter[1][1] == b"lite of keras, opened"
