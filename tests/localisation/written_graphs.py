"""Graphs of a few nodes, written by hand, and what two of them compute."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from onnx_texts import onnx_model

OPSET = 17


def value(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def constant(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


def net(nodes, inputs, outputs, more=(), **constants):
    """A graph that ONNX's textual form has no words for."""
    tensors = [constant(name, values) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "net", inputs, outputs, tensors)
    opsets = [helper.make_opsetid("", OPSET), *more]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


W = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]], np.float32)
V = np.array([[1.0, 0.0], [0.5, -1.0], [2.0, 1.0]], np.float32)


def two_products(first=W, second=V):
    """``y = relu(x·first)·second``; only its first product has a name."""
    text = """(float[n,2] x) => (float[n,2] y) {
        [first] h = MatMul (x, w)
        r = Relu (h)
        [second] y = MatMul (r, v)
    }"""
    return onnx_model(text, w=first, v=second)


def rounded(values):
    return (np.rint(values * 2) / 2 + 0.25).astype(np.float32)


X = np.array([[1.0, 2.0], [-1.0, 0.5], [3.0, 0.0]], np.float32)


def products_of(first, second, x=X):
    return np.maximum(x @ first, 0) @ second
