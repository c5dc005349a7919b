"""Small ONNX networks for tests: of one input, streaming, with a mask, on integers."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def value(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def save(path: Path, nodes, inputs, outputs, constants=()) -> Path:
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def linear(path, weights, batch=None):
    """``x @ weights``, ``x`` float32 ``(N, F)``."""
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    inputs, outputs = [value("x", [batch, len(weights)])], [value("y", [batch, weights.shape[1]])]
    return save(path, [node], inputs, outputs, [constant("w", weights)])


def linear_in_time(path, weights):
    """``x @ weights`` at each step, ``x`` float32 ``(N, T, F)``."""
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    inputs = [value("x", ["n", 3, len(weights)])]
    return save(
        path, [node], inputs, [value("y", ["n", 3, weights.shape[1]])], [constant("w", weights)]
    )


def streaming(path):
    """A decaying sum: ``state_out = 0.5 * state_in + mean(x)``, which is also the output."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[1], keepdims=1),
        helper.make_node("Mul", ["state_in", "half"], ["s"]),
        helper.make_node("Add", ["s", "m"], ["state_out"]),
        helper.make_node("Identity", ["state_out"], ["y"]),
    ]
    inputs = [value("x", ["n", 4]), value("state_in", ["n", 1])]
    outputs = [value("y", ["n", 1]), value("state_out", ["n", 1])]
    return save(path, nodes, inputs, outputs, [constant("half", np.float32(0.5))])


def masked(path):
    """The sum of the token ids that the mask names, times ``factor``."""
    nodes = [
        helper.make_node("Mul", ["input_ids", "attention_mask"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "axis"], ["sum"], keepdims=1),
        helper.make_node("Mul", ["sum", "factor"], ["scaled"]),
        helper.make_node("Cast", ["scaled"], ["y"], to=TensorProto.FLOAT),
    ]
    inputs = [
        value("input_ids", ["n", 6], TensorProto.INT64),
        value("attention_mask", ["n", 6], TensorProto.INT64),
        value("factor", [], TensorProto.INT64),
    ]
    return save(path, nodes, inputs, [value("y", ["n", 1])], [constant("axis", np.array([1]))])


def mixing(path):
    """Each row less the mean of its batch: no row's result stands alone."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[0], keepdims=1),
        helper.make_node("Sub", ["x", "m"], ["y"]),
    ]
    return save(path, nodes, [value("x", ["n", 3])], [value("y", ["n", 3])])


def quantised(path, weights):
    """:func:`linear` with weights of 8 bits."""
    scale = np.float32(np.abs(weights).max() / 127)
    whole = np.rint(weights / scale).astype(np.int8)
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["w"]),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
    ]
    constants = [constant("q", whole), constant("scale", scale), constant("zero", np.int8(0))]
    inputs, outputs = [value("x", ["n", len(weights)])], [value("y", ["n", weights.shape[1]])]
    return save(path, nodes, inputs, outputs, constants)
