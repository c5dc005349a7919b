"""The short script of a finding: simple numbers, few lines, and a check that runs it."""

import itertools
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from asterism.libraries.adapters.library import GIVEN, LIBRARIES
from asterism.libraries.judging.finding import Finding
from asterism.libraries.reporting.confirming import exit_status
from asterism.libraries.reporting.numbers import (
    MAKERS,
    Numbers,
    literal_array,
    literal_numbers,
    simplest,
)
from asterism.libraries.reporting.onnx_text import onnx_text, recounted
from asterism.libraries.reporting.python_text import compiles
from asterism.libraries.reporting.reproducer import script_of
from asterism.libraries.reporting.short_code import short_code
from asterism.libraries.reporting.short_script import native_script, short_script
from asterism.libraries.running.tasks import LayerDescription
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.graph import sequential
from asterism.memo.graphs.store import read_weights
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer

GRAPH = sequential(Tensor((3,)), [layer("Dense", units=2), layer("ReLU")])
LAYERS = {1: LayerDescription({"units": 2}, [("kernel", (3, 2)), ("bias", (2,))])}
INPUTS = [np.random.default_rng(5).normal(size=(2, 3)).astype(np.float32)]


def finding(backend="jax:jit", kind="normal", symptom="values differ"):
    return Finding(0, symptom, "run", backend.partition(":")[0], (backend,), (kind,))


def unique(found=None, graph=GRAPH):
    return UniqueFinding("a | b", found or finding(), graph, None, {0}, 4)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(2, 3), (4,), (0, 2)])
def test_an_array_is_what_its_source_says(shape, dtype):
    arrays = [maker(shape, dtype, 1) for maker in MAKERS]
    special = np.array([np.nan, np.inf, -np.inf, 0.1], dtype)
    for array in (*arrays, literal_array(arrays[-1].values), literal_array(special)):
        read = eval(array.source, {"np": np})
        assert read.dtype == array.values.dtype
        np.testing.assert_array_equal(read, array.values)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "bool"])
def test_arrays_that_nobody_reads_are_written_as_their_bytes(dtype):
    values = np.arange(3000).reshape(50, 60).astype(dtype).T
    if dtype.startswith("float"):
        values[3, :3] = np.nan, np.inf, -np.inf
    source = literal_array(values).source
    read = eval(source, {"np": np})
    assert (read.dtype, read.flags.writeable) == (values.dtype, True)
    np.testing.assert_array_equal(read, values)
    assert len(source) < 2 * values.nbytes + 200


class Shows:
    """A finding that shows only with some inputs and weights."""

    def __init__(self, right):
        self.right, self.asked = right, 0

    def look(self, graph, found, *, given, weights):
        self.asked += 1
        kernel = dict(read_weights(weights)[graph.nodes[1].weights])["kernel"]
        return SimpleNamespace(finding=found if self.right(given[0], kernel) else None)


@pytest.mark.parametrize(
    ("right", "inputs", "weights"),
    [
        (lambda x, w: True, "np.zeros", "np.ones"),
        (lambda x, w: x.any(), "np.ones", "np.ones"),
        (lambda x, w: x.std() > 0, "np.linspace", "np.ones"),
        (lambda x, w: w.std() > 0, "np.zeros", "np.linspace"),
        (lambda x, w: np.array_equal(x, INPUTS[0]), "np.array", "np.ones"),
        (lambda x, w: w.std() > 0 and w[0, 0] != -1, "np.zeros", "np.random"),
        (lambda x, w: False, "np.array", "np.array"),
        (lambda x, w: w.std() == 0 or np.array_equal(x, INPUTS[0]), "np.zeros", "np.ones"),
    ],
)
def test_the_first_numbers_that_show_a_finding_are_taken(right, inputs, weights):
    known = literal_numbers(GRAPH, {}, LAYERS, INPUTS)
    shows = Shows(right)
    found = simplest(shows, GRAPH, finding(), known, LAYERS)
    assert found.inputs[0].source.startswith(inputs)
    assert all(array.source.startswith(weights) for array in found.weights[1])
    assert shows.asked <= 11


@pytest.mark.parametrize(
    ("kind", "source"), [("nan", "np.nan"), ("largest", "3e38"), ("empty", "np.array")]
)
def test_special_inputs_stay_special(kind, source):
    known = literal_numbers(GRAPH, {}, LAYERS, INPUTS)
    found = simplest(Shows(lambda *_: True), GRAPH, finding(kind=kind), known, LAYERS)
    assert source in found.inputs[0].source


def test_weights_that_are_not_finite_stay_so():
    kernel = np.array([[1, np.nan], [2, 3], [4, 5]], np.float32)
    known = Numbers(
        (literal_array(INPUTS[0]),), {1: (literal_array(kernel), literal_array(kernel[0]))}
    )
    found = simplest(Shows(lambda x, w: np.isnan(w).all()), GRAPH, finding(), known, LAYERS)
    assert [a.source for a in found.weights[1]] == [
        "np.full((3, 2), np.nan, 'float32')",
        "np.full((2,), np.nan, 'float32')",
    ]


def test_weights_that_were_replaced_are_those_of_the_graph():
    known = literal_numbers(GRAPH, {}, LAYERS, INPUTS)
    graph, stored = known.stored(GRAPH, LAYERS)
    again = literal_numbers(graph, stored, LAYERS, INPUTS)
    for one, two in zip(known.weights[1], again.weights[1], strict=True):
        np.testing.assert_array_equal(one.values, two.values)


#: No converter, or one of this project's: other tests register more.
OURS = (None, "keras_onnx", "tf2onnx", "tflite")
SHORT = ("tensorflow", "pytorch", "jax", "numpy", "openvino_keras", "onnxruntime", "openvino")


@pytest.mark.parametrize("name", [*SHORT, "litert", "onnx2torch", "onnx2pytorch"])
def test_two_layers_take_few_lines_in_every_backend(name):
    simple = Numbers(
        (MAKERS[1]((2, 3), "float32", 0),),
        {1: (MAKERS[2]((3, 2), "float32", 0), MAKERS[1]((2,), "float32", 1))},
    )
    numbers = [np.arange(20, dtype=np.float64).reshape(2, 10)]
    seen = 0
    for option in LIBRARIES[name].all_options():
        if (
            option.startswith(("perturbed", "probe", GIVEN))
            or LIBRARIES[name]().source(option) not in OURS
        ):
            continue
        found = unique(finding(f"{name}:{option}"))
        text = short_script(found, LAYERS, simple, numbers, [numbers[0].astype(np.float32) + 1])
        assert text is not None and compiles(text)
        lines = [line for line in text.splitlines() if line.strip()]
        # Beside the model and the library stands a converter where there is a file.
        most = 20 if LIBRARIES[name]().source(option) is None else 25
        assert len(lines) <= most, f"{option}: {len(lines)}"
        seen += 1
    assert seen


def test_a_backend_without_short_code_gets_the_whole_script():
    assert short_code("numpy", "no_such_option", None, 1) is None
    assert short_code("litert", "tflite", "tflite", 2) is None
    known = literal_numbers(GRAPH, {}, LAYERS, INPUTS)
    assert short_script(unique(finding(symptom="wrong buffers")), LAYERS, known, [], []) is None
    assert all(short_code("", "", converter, 1) for converter in OURS[1:])


def test_what_fails_says_before_what_is_expected():
    found = unique(finding("litert:tflite", symptom="runtime crash"))
    text = short_script(found, LAYERS, literal_numbers(GRAPH, {}, LAYERS, INPUTS), [], [])
    assert text.index("expected: it runs") < text.index("Interpreter(") < text.index("actual")


def test_where_outputs_are_large_the_element_that_differs_most_is_printed():
    expected = [np.zeros((4, 5)), np.zeros((4, 5))]
    actual = [array.astype(np.float32) for array in expected]
    actual[1][2, 3] = 7
    text = short_script(unique(), LAYERS, Numbers((), {}), expected, actual)
    assert "expected 0.0 at [2, 3] of output 1" in text and "outputs[1])[2, 3]" in text


def test_of_a_wrong_dtype_the_dtypes_are_printed():
    expected = [np.zeros((4, 5))]
    text = short_script(unique(), LAYERS, Numbers((), {}), expected, expected)
    assert "expected the dtype float32 of output 0" in text and "outputs[0]).dtype" in text


def exported(*nodes, weights=()):
    """A small ONNX file."""
    sides = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ("N", 3)) for n in "xz"]
    graph = helper.make_graph(nodes, "g", sides[:1], sides[1:], list(weights))
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def test_a_runtime_s_script_is_the_text_of_the_model_and_runs(tmp_path):
    weight = numpy_helper.from_array(np.eye(3, dtype=np.float32) * 2, "w/kernel:0")
    content = exported(
        helper.make_node("MatMul", ["x", "w/kernel:0"], ["y"], name="long/name"),
        helper.make_node("Relu", ["y"], ["z"]),
        weights=[weight],
    )
    text = onnx_text(content)
    assert text is not None and "long/name" not in text
    found = unique(finding("onnxruntime:tf2onnx"))
    numbers = Numbers((MAKERS[1]((2, 3), "float32", 0),), {})
    right = [np.full((2, 3), 2.0)]
    written = native_script(found, text, numbers, right, right)
    assert "import keras" not in written
    assert len([line for line in written.splitlines() if line.strip()]) <= 25
    (tmp_path / "repro.py").write_text(written)
    done = subprocess.run(
        [sys.executable, "repro.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "expected [[2., 2., 2.], [2., 2., 2.]]" in done.stdout
    assert "actual   [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]" in done.stdout


@pytest.mark.parametrize("name", ['a"""', "a\\b", "☃"])
def test_a_name_that_could_end_a_text_gets_no_native_script(name):
    first = helper.make_node("Relu", ["x"], [name])
    assert onnx_text(exported(first, helper.make_node("Relu", [name], ["z"]))) is None


def test_bytes_that_onnx_cannot_print_get_no_native_script():
    node = helper.make_node("Relu", ["x"], ["z"], mode=b"\x82")
    assert onnx_text(exported(node)) is None


def test_a_long_model_gets_no_native_script():
    names = ["x", *(f"n{i}" for i in range(60)), "z"]
    nodes = [helper.make_node("Relu", [a], [b]) for a, b in itertools.pairwise(names)]
    assert onnx_text(exported(*nodes)) is None


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax:jit", "onnxruntime:tf2onnx", "litert:tflite"])
def test_a_check_runs_the_short_script_and_decides(backend, tmp_path):
    known = literal_numbers(GRAPH, {}, LAYERS, INPUTS)
    kernel, bias = (array.values.astype(np.float64) for array in known.weights[1])
    right = [np.maximum(INPUTS[0].astype(np.float64) @ kernel + bias, 0)]
    found = unique(finding(backend))
    for status, off in ((0, 0.0), (1, 0.1)):
        expected = [array + off for array in right]
        text = short_script(found, LAYERS, known, expected, right)
        (tmp_path / "repro.py").write_text(text)
        allowed = [np.full((2, 2), 1e-4)]
        check = script_of(found, {}, LAYERS, [], expected, allowed, runs="repro.py")
        (tmp_path / "check.py").write_text(check)
        assert exit_status(tmp_path / "check.py") == status


def test_jax_is_told_of_float64_before_a_model_is_built():
    numbers = literal_numbers(GRAPH, {}, LAYERS, INPUTS)
    text = short_script(unique(finding("jax:float64")), LAYERS, numbers, INPUTS, INPUTS)
    assert text.index("JAX_ENABLE_X64='1'") < text.index("import keras")


def test_what_a_converter_has_counted_before_is_not_in_the_text():
    texts = [f"new_shape__{n} = Add (a__{n + 3}, x) b_c__{n}:0" for n in (9, 6083)]
    assert {recounted(text) for text in texts} == {"new_shape__0 = Add (a__1, x) b_c__0:0"}
