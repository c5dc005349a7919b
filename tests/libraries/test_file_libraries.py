"""Libraries that read files, on small files written by hand: in a worker, and by their scripts."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import keras
import numpy as np
import pytest
import torch

from asterism.differential.adapters import torchvision
from asterism.differential.adapters.code import Prepared
from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.converters import onnx as onnx_converters
from libraries.small_runs import cotangent
from models.small_litert import LiteFile
from onnx_texts import write_onnx

W = np.arange(6, dtype=np.float32).reshape(3, 2) - 2
A = np.float32([[1, 2, 3], [0, -1, 2]])
B = np.float32([[10, 20], [30, 40]])
EXPECTED = [A @ W - B, -B]


def onnx_file(path):
    """``a @ w - b`` and ``-b``, from ``a`` and ``b``."""
    sides = "(float[n,3] a, float[n,2] b) => (float[n,2] first, float[n,2] second)"
    nodes = "{ m = MatMul (a, w) first = Sub (m, b) second = Neg (b) }"
    return write_onnx(path, f"{sides} {nodes}", w=W)


def lite_file(path):
    """The same for two rows; the names' numbers say their order, and as texts they do not."""
    file = LiteFile()
    file.graph(
        {
            "input_2": (2, 3),
            "input_10": (2, 2),
            "w": np.ascontiguousarray(W.T),
            "m": (2, 2),
            "output_9": (2, 2),
            "output_11": (2, 2),
        },
        [
            ("FULLY_CONNECTED", ["input_2", "w"], ["m"]),
            ("SUB", ["m", "input_10"], ["output_9"]),
            ("NEG", ["input_10"], ["output_11"]),
        ],
        ["input_10", "input_2"],
        ["output_11", "output_9"],
    )
    return file.write(path)


class Files(ModelUnderTest):
    """A model whose converted file lies there already."""

    def __init__(self, folder):
        super().__init__(folder, None, None)
        self.asked = []

    def file(self, converter, suffix):
        self.asked.append((converter, suffix))
        path = super().file(converter, suffix)
        return (onnx_file if suffix == ".onnx" else lite_file)(path)


CASES = [
    ("onnxruntime", "tf2onnx", "tf2onnx"),
    ("onnxruntime", "keras_onnx_optimised", "keras_onnx"),
    ("openvino", "tf2onnx", "tf2onnx"),
    ("litert", "tflite", "tflite"),
]


@pytest.mark.parametrize(("library", "option", "converter"), CASES)
def test_a_file_is_run_with_inputs_and_outputs_in_their_order(tmp_path, library, option, converter):
    adapter, files = LIBRARIES[library](), Files(tmp_path)
    assert option in adapter.all_options()
    compiled = adapter.compile(files, option)
    assert files.asked == [(converter, adapter.suffix)]
    outputs = adapter.run(compiled, [A, B])
    again = adapter.run(compiled, [A + 1, B])
    for found, wanted in zip(outputs, EXPECTED, strict=True):
        assert found == pytest.approx(wanted, abs=1e-4)
    assert again[0] == pytest.approx(EXPECTED[0] + W.sum(axis=0), abs=1e-4)


def test_onnxruntime_optimises_where_the_option_says_so(tmp_path, monkeypatch):
    import onnxruntime

    levels = []
    own = onnxruntime.InferenceSession

    def session(path, options, providers):
        levels.append((options.graph_optimization_level.name, options.intra_op_num_threads))
        return own(path, options, providers=providers)

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    for option in ("tf2onnx", "tf2onnx_optimised"):
        LIBRARIES["onnxruntime"]().compile(Files(tmp_path), option)
    assert levels == [("ORT_DISABLE_ALL", 1), ("ORT_ENABLE_ALL", 1)]


# ---- modules of PyTorch


class Module(torch.nn.Module):
    """``a @ w - b`` and ``-b``; one output alone where it gets one input."""

    def forward(self, a, b=None):
        assert not self.training and not torch.is_grad_enabled()
        first = a @ torch.from_numpy(W)
        if b is None:
            return first
        b.mul_(1.0)  # in place, which the caller's arrays must not notice
        return first - b, -b


@pytest.mark.parametrize("name", ["onnx2torch", "onnx2pytorch"])
def test_a_converted_module_is_run_in_inference(tmp_path, monkeypatch, name):
    adapter, files, loaded = LIBRARIES[name](), Files(tmp_path), []
    one, other = ModuleType("onnx2torch"), ModuleType("onnx2pytorch")
    one.convert = lambda path: (loaded.append(path), Module())[1]
    other.ConvertModel = lambda model: (loaded.append(model.graph.name), Module())[1]
    monkeypatch.setitem(sys.modules, "onnx2torch", one)
    monkeypatch.setitem(sys.modules, "onnx2pytorch", other)
    compiled = adapter.compile(files, "tf2onnx")
    assert loaded == [str(tmp_path / "tf2onnx.onnx") if name == "onnx2torch" else "net"]
    for found, wanted in zip(adapter.run(compiled, [A, B]), EXPECTED, strict=True):
        assert isinstance(found, np.ndarray)
        assert found == pytest.approx(wanted)
    (only,) = adapter.run(compiled, [A])
    assert only == pytest.approx(A @ W)


@pytest.fixture
def no_torchvision(monkeypatch):
    """Names of torchvision are free, and importing it fails as a build for another PyTorch does."""

    class Failing:
        def find_spec(self, name, *_):
            if name.split(".")[0] == "torchvision":
                raise RuntimeError("operator torchvision::nms does not exist")

    for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Failing(), *sys.meta_path])
    yield
    for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
        del sys.modules[name]


def test_a_broken_torchvision_is_stood_in_for(no_torchvision, monkeypatch):
    sys.modules["torchvision.half"] = ModuleType("torchvision.half")
    threads = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    LIBRARIES["onnx2torch"]().start()
    assert threads == [1]
    assert "torchvision.half" not in sys.modules
    import torchvision as stand_in
    from torchvision import ops

    for nms in (ops.nms, stand_in.ops.nms):
        with pytest.raises(NotImplementedError, match="torchvision's nms is not supported here"):
            nms(1, boxes=2)
    assert not hasattr(stand_in, "__version__")
    assert stand_in.__path__ == []


def test_a_torchvision_that_works_is_left_alone(monkeypatch):
    real = ModuleType("torchvision")
    monkeypatch.setitem(sys.modules, "torchvision", real)
    torchvision.stand_in_where_broken()
    assert sys.modules["torchvision"] is real


def test_pytorchs_gradient_weighs_every_output():
    def model(inputs, training):
        assert not training
        a, _, b = inputs
        return [a @ torch.from_numpy(W), b * b]

    library, whole = LIBRARIES["pytorch"](), np.int32([[1]])
    prepared = Prepared(library.code("eager"), {"keras": keras, "model": model}, "eager")
    found = library.run(prepared, [A.copy(), whole, B.copy()], "gradient")
    assert found[0] == pytest.approx(cotangent((2, 2)) @ W.T, abs=1e-5)
    assert found[1] == pytest.approx(2 * B * cotangent((2, 2)), abs=1e-4)
    assert library.run(prepared, [whole], "gradient") == []


# ---- models of Keras, and converters


class Recorded:
    """A Keras model that notes how it is called."""

    def __init__(self, shapes):
        self.inputs = [SimpleNamespace(shape=s, dtype="float32") for s in shapes]
        self.called = []

    def __call__(self, inputs, training):
        self.called.append((inputs, training))

    def export(self, path, **options):
        self.called.append((path, options))


def subject(model, **facts):
    return SimpleNamespace(keras=lambda **_: model, **facts)


@pytest.mark.parametrize("shapes", [((None, 3),), ((None, 3), (None, 2, 4))])
def test_keras_export_is_called_after_a_call_with_zeros(tmp_path, shapes):
    model = Recorded(shapes)
    onnx_converters.KerasOnnx().convert(subject(model, opset=15, batch=2), tmp_path / "m.onnx")
    (examples, training), exported = model.called
    examples = examples if len(shapes) > 1 else [examples]
    assert not training
    assert [tuple(e.shape) for e in examples] == [(1, *s[1:]) for s in shapes]
    assert all(e.dtype == np.float32 and not e.any() for e in examples)
    options = {"format": "onnx", "verbose": False, "opset_version": 15}
    assert exported == (str(tmp_path / "m.onnx"), options)


@pytest.mark.parametrize("fails", [0, 1, 2])
def test_tf2onnx_copies_graphs_only_where_an_optimisation_fails(tmp_path, monkeypatch, fails):
    seen = []

    def from_function(function, signature, *, opset, output_path):
        seen.append(onnx_converters.os.environ.get("TF2ONNX_CATCH_ERRORS"))
        assert opset == 15 and [spec.shape for spec in signature] == [(None, 3), (None, 2)]
        if len(seen) <= fails:
            raise ValueError("it fails")
        Path(output_path).write_bytes(b"file")

    fake = SimpleNamespace(convert=SimpleNamespace(from_function=from_function))
    monkeypatch.setitem(sys.modules, "tf2onnx", fake)
    given = subject(Recorded(((None, 3), (None, 2))), opset=15, batch=2)
    target = tmp_path / "m.onnx"
    if fails == 2:
        with pytest.raises(ValueError, match="it fails"):
            onnx_converters.Tf2Onnx().convert(given, target)
    else:
        onnx_converters.Tf2Onnx().convert(given, target)
        assert target.read_bytes() == b"file"
    assert seen == ["FALSE", None][: min(fails + 1, 2)]
    assert "TF2ONNX_CATCH_ERRORS" not in onnx_converters.os.environ


@pytest.mark.parametrize(
    ("name", "option"),
    [(name, "eager") for name in ("tensorflow", "pytorch", "jax")]
    + [("openvino_keras", "predict")],
)
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("many", [False, True])
def test_a_keras_model_gets_one_input_alone_and_several_as_a_list(name, option, count, many):
    seen = []

    def model(given, training=False):
        seen.append(given)
        first = given[0] if isinstance(given, list) else given
        return [first, 2 * first] if many else first

    model.predict_on_batch = model
    library = LIBRARIES[name]()
    code = library.code(option).given(count)
    prepared = Prepared(code, {"keras": keras, "model": model}, option)
    outputs = library.run(prepared, [A, B, B + 1][:count])
    assert isinstance(seen[0], list) == (count > 1)
    assert len(seen[0]) == (count if count > 1 else len(A))
    expected = [A, 2 * A] if many else [A]
    assert [np.asarray(o).tolist() for o in outputs] == [o.tolist() for o in expected]
