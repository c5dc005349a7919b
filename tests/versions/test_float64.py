"""Models in float64: everything that was a smaller float is double, and nothing else changes."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from small_files import chain, onnx_model

from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.adapters.onnx_float64 import in_float64


def run(model, *arrays):
    evaluator = ReferenceEvaluator(in_float64(model))
    return evaluator.run(None, dict(zip(evaluator.input_names, arrays, strict=True)))


def test_what_float32_loses_is_there():
    model = chain("Identity", "Exp")
    x = np.array([[1e-9, 1 / 3, 2.0, 0.1]])
    np.testing.assert_allclose(run(model, x)[0], np.exp(x), rtol=1e-15)
    assert model.graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT, "a copy"


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (("Cast", ["x"], ["c"], {"to": TensorProto.FLOAT16}), 1 / 3),
        (("Cast", ["x"], ["c"], {"to": TensorProto.INT32}), 0.0),
        (("ConstantOfShape", ["s"], ["c"], {}), 0.0),
        (("Constant", [], ["c"], {"value_float": 0.5}), 0.5),
        (("Constant", [], ["c"], {"value": numpy_helper.from_array(np.float32([0.25]))}), 0.25),
    ],
)
def test_types_inside_of_nodes(node, expected):
    to_float = ("Cast", ["c"], ["f"], {"to": TensorProto.FLOAT})
    nodes = [node, to_float, ("Add", ["f", "f"], ["y"], {})]
    constants = {"s": np.array([1], np.int64)}
    model = onnx_model(nodes, [("x", (1,))], ["y"], constants)
    (found,) = run(model, np.array([1 / 3]))
    assert found.dtype == np.float64 and found.reshape(-1)[0] == 2 * expected


def test_weights_are_moved_and_sizes_are_not():
    scales, weights = np.array([1, 2], np.float32), np.array([3, 5], np.float32)
    nodes = [("Mul", ["x", "w"], ["m"], {}), ("Resize", ["m", "", "s"], ["y"], {})]
    model = onnx_model(nodes, [("x", (1, 2))], ["y"], {"w": weights, "s": scales})
    moved = in_float64(model, lambda array: array * 2)
    arrays = {c.name: numpy_helper.to_array(c) for c in moved.graph.initializer}
    np.testing.assert_array_equal(arrays["w"], [6, 10])
    np.testing.assert_array_equal(arrays["s"], [1, 2])
    assert {a.dtype for a in arrays.values()} == {np.dtype(np.float64)}


def test_graphs_inside_of_nodes():
    branch = [
        helper.make_graph(
            [helper.make_node("Constant", [], ["r"], value_float=value)],
            "branch",
            [],
            [helper.make_tensor_value_info("r", TensorProto.FLOAT, [])],
        )
        for value in (0.1, 0.2)
    ]
    nodes = [("If", ["b"], ["y"], {"then_branch": branch[0], "else_branch": branch[1]})]
    model = onnx_model(nodes, [("b", (), TensorProto.BOOL)], ["y"])
    (found,) = run(model, np.array(True))
    assert found.dtype == np.float64 and found == pytest.approx(0.1, rel=1e-6)


def test_weights_among_the_inputs_are_no_inputs(tmp_path):
    """As in files of the format's early versions."""
    inputs = [("x", (2, 3)), ("w", (3, 1))]
    constants = {"w": np.float32([[1], [2], [3]])}
    model = onnx_model([("MatMul", ["x", "w"], ["y"], {})], inputs, ["y"], constants)
    (tmp_path / "file.onnx").write_bytes(model.SerializeToString())
    adapter = LIBRARIES["onnx_reference"]()
    compiled = adapter.compile(ModelUnderTest(tmp_path, None, None), "float64")
    (found,) = adapter.run(compiled, [np.ones((2, 3))])
    np.testing.assert_array_equal(found, [[6.0], [6.0]])


@pytest.mark.parametrize("opset", [7, 9, 13, 15])
def test_batches_are_normalised_by_the_weights_in_every_version(opset, tmp_path):
    weights = {name: np.float32([i + 1, 2]) for i, name in enumerate(("s", "b", "m", "v"))}
    nodes = [("BatchNormalization", ["x", *weights], ["y"], {"epsilon": 0.0})]
    model = onnx_model(nodes, [("x", (3, 2))], ["y"], weights, opset)
    (tmp_path / "file.onnx").write_bytes(model.SerializeToString())
    adapter = LIBRARIES["onnx_reference"]()
    compiled = adapter.compile(ModelUnderTest(tmp_path, None, None), "float64")
    (found,) = adapter.run(compiled, [np.arange(6.0).reshape(3, 2)])
    x, (s, b, m, v) = np.arange(6.0).reshape(3, 2), weights.values()
    np.testing.assert_allclose(found, (x - m) / np.sqrt(v) * s + b, rtol=1e-6)
