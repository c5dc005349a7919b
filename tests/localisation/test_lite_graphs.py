"""LiteRT graphs with their variables as inputs and outputs, and with real numbers."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from test_conversion import lite_answers, onnx_answers

from asterism.core.messages.errors import UserError
from asterism.localisation.conversion import as_onnx
from asterism.localisation.lite_graphs import make_convertible
from asterism.localisation.matching import match_tensors
from asterism.localisation.reading import pair_graphs
from asterism.models.signatures.reading import read_signature
from models import onnx_networks
from models.small_litert import LiteFile, lite_linear, lite_variable
from onnx_texts import onnx_model
from readers.formats import litert_edited

RNG = np.random.default_rng(0)
#: What a step of a file adds to its variable, and what fills it at first.
FILL = [("VAR_HANDLE", [], ["handle"]), ("ASSIGN_VARIABLE", ["handle", "zero"], [])]


def opened(path):
    """The file with what has to be changed for a converter."""
    target = path.with_suffix(".opened.tflite")
    target.write_bytes(make_convertible(path.read_bytes(), path.name))
    return target


def answers(path, items):
    return onnx_networks.opened(path, items[:1]).predict(items)


def with_two_reads(path, operators):
    """A file of one variable, read and assigned as the operators say, that gives ``y``."""
    file = LiteFile()
    file.graph(
        {"x": (1, 2), "handle": None, "before": (1, 2), "later": (1, 2), "s": (1, 2), "y": (1, 2)},
        [("CALL_ONCE", [], []), ("VAR_HANDLE", [], ["handle"]), *operators],
        ["x"],
        ["y"],
    )
    file.graph({"handle": None, "zero": np.zeros((1, 2), np.float32)}, FILL, [], [])
    return file.write(path)


def test_a_variable_becomes_a_state_and_the_answers_stay(tmp_path):
    path = lite_variable(tmp_path / "v.tflite")
    found = opened(path)
    signature = read_signature(found)
    assert (signature.variables, signature.states) == (False, (("sum_in", "sum_out"),))
    items = RNG.normal(size=(3, 6)).astype(np.float32)
    wanted = answers(path, items)
    assert answers(found, items) == pytest.approx(wanted, abs=1e-6)
    assert wanted[:, 2:4] == pytest.approx(items[:, :2] + items[:, 2:4], abs=1e-6)


def test_a_variable_is_read_as_it_is_at_that_point(tmp_path):
    path = with_two_reads(
        tmp_path / "v.tflite",
        [
            ("READ_VARIABLE", ["handle"], ["before"]),
            ("ADD", ["x", "before"], ["s"]),
            ("ASSIGN_VARIABLE", ["handle", "s"], []),
            ("READ_VARIABLE", ["handle"], ["later"]),
            ("ADD", ["later", "before"], ["y"]),
        ],
    )
    items = RNG.normal(size=(3, 6)).astype(np.float32)
    wanted = answers(path, items)
    assert answers(opened(path), items) == pytest.approx(wanted, abs=1e-6)
    assert wanted[:, 2:4] == pytest.approx(2 * items[:, :2] + items[:, 2:4], abs=1e-6)


def test_variables_that_cannot_be_opened_are_one_line(tmp_path):
    path = lite_variable(tmp_path / "v.tflite", start=0.5)
    with pytest.raises(UserError, match=r"zero \(sum\)"):
        opened(path)
    never = with_two_reads(
        tmp_path / "n.tflite",
        [("READ_VARIABLE", ["handle"], ["before"]), ("ADD", ["x", "before"], ["y"])],
    )
    with pytest.raises(UserError, match=r"sum .*never assigned"):
        opened(never)

    def keep_state(model):
        model.subgraphs[0].tensors[2].isVariable = True

    with pytest.raises(UserError, match="keeps the state"):
        make_convertible(litert_edited(path.read_bytes(), keep_state), "it")
    with pytest.raises(UserError, match=r"junk\.tflite"):
        make_convertible(b"junk", "junk.tflite")


def test_what_needs_no_change_is_the_same_bytes(tmp_path):
    content = lite_linear(tmp_path / "a.tflite", np.ones((3, 2), np.float32)).read_bytes()
    assert make_convertible(content, "a") == content


def dense(path):
    """A dense layer with a bias, of an input with an axis too many."""
    weights = RNG.normal(size=(3, 4)).astype(np.float32)
    file = LiteFile()
    file.graph(
        {"x": (1, 1, 4), "w": weights, "b": np.float32([5, 6, 7]), "y": (1, 3)},
        [("FULLY_CONNECTED", ["x", "w", "b"], ["y"])],
        ["x"],
        ["y"],
    )
    return file.write(path), weights


def test_a_dense_layer_takes_a_matrix(tmp_path):
    path, weights = dense(tmp_path / "d.tflite")
    found = opened(path)
    model = schema.ModelT.InitFromPackedBuf(found.read_bytes(), 0)
    graph = model.subgraphs[0]
    node = graph.operators[-1]
    assert list(graph.tensors[node.inputs[0]].shape) == [1, 4]
    rows = RNG.normal(size=(3, 1, 4)).astype(np.float32)
    assert lite_answers(found, rows) == pytest.approx(rows[:, 0] @ weights.T + [5, 6, 7], abs=1e-5)


@pytest.mark.slow
def test_converted_layers_keep_their_bias_and_variables_their_values(tmp_path):
    path, weights = dense(tmp_path / "d.tflite")
    rows = RNG.normal(size=(3, 1, 4)).astype(np.float32)
    found = onnx_answers(as_onnx(path, tmp_path), rows)
    assert found == pytest.approx(rows[:, 0] @ weights.T + [5, 6, 7], abs=1e-5)
    path = lite_variable(tmp_path / "v.tflite")
    converted = as_onnx(path, tmp_path)
    items = RNG.normal(size=(9, 6)).astype(np.float32)
    assert read_signature(converted).states == (("sum_in", "sum_out"),)
    assert answers(converted, items) == pytest.approx(answers(path, items), abs=1e-6)


@pytest.mark.slow
def test_integers_of_inputs_and_outputs_become_real_numbers(tmp_path):
    import tensorflow as tf

    weights = RNG.normal(size=(4, 3)).astype(np.float32)
    call = tf.function(lambda x: tf.nn.relu(x @ weights))
    spec = tf.TensorSpec([1, 4], tf.float32)
    rows = RNG.normal(size=(50, 4)).astype(np.float32)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([call.get_concrete_function(spec)])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([row[np.newaxis]] for row in rows)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    path = tmp_path / "whole.tflite"
    path.write_bytes(converter.convert())
    assert [spec.dtype for spec in read_signature(path).inputs] == ["int8"]
    wanted = answers(path, rows)
    converted = as_onnx(path, tmp_path)
    assert [spec.dtype for spec in read_signature(converted).inputs] == ["float32"]
    assert [spec.dtype for spec in read_signature(converted).outputs] == ["float32"]
    step = read_signature(path).outputs[0].scale
    assert answers(converted, rows) == pytest.approx(wanted, abs=1.01 * step)


def test_a_tensor_is_told_by_the_name_of_the_integers_it_is_quantised_to():
    original = """(float[n,2] x) => (float[n,2] y) {
        middle = Neg (x)
        y = Abs (middle)
    }"""
    quantised = """(float[n,2] x) => (float[n,2] y) {
        other = Mul (x, minus)
        middle = QuantizeLinear (other, scale, zero)
        again = DequantizeLinear (middle, scale, zero)
        y = Abs (again)
    }"""
    constants = {"scale": np.float32(0.1), "zero": np.int8(0), "minus": np.float32(-1)}
    pair = pair_graphs(onnx_model(original), onnx_model(quantised, **constants))
    found = match_tensors(pair)["middle"]
    assert (found.raw, found.final, found.quantiser) == ("other", ("again",), (1, 2))


def test_what_takes_a_clipped_tensor_is_told_by_structure():
    original = """(float[n,2] x) => (float[n,2] y) {
        m = Neg (x)
        r = Relu (m)
        e = Exp (r)
        y = Identity (e)
    }"""
    quantised = """(float[n,2] x) => (float[n,2] y) {
        m = Neg (x)
        q = QuantizeLinear (m, scale, zero)
        f = DequantizeLinear (q, scale, zero)
        other = Exp (f)
        y = Identity (other)
    }"""
    constants = {"scale": np.float32(0.1), "zero": np.int8(-128)}
    found = match_tensors(pair_graphs(onnx_model(original), onnx_model(quantised, **constants)))
    assert "m" not in found
    assert (found["r"].raw, found["r"].final) == ("m", ("f",))
    assert found["e"].raw == "other"
