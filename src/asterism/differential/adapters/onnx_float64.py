"""ONNX models in float64: every floating constant, cast and declaration becomes double."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.models.onnx_graphs.node_order import subgraphs

#: Attributes that name the type of what a node makes.
_TYPES = ("to", "dtype")

#: Inputs that decide about shapes or axes, by operator: exact numbers, which no rounding moves.
_EXACT = {"Resize": (1, 2, 3), "Upsample": (1,), "Range": (0, 1, 2), "OneHot": (1,)}

Change = Callable[[NDArray[Any]], NDArray[Any]]


def in_float64(model: Any, change: Change | None = None) -> Any:
    """A copy of an ONNX model that computes in float64 what it computed in a smaller float.

    Args:
        model: ``onnx.ModelProto``.
        change: what happens to the floating initializers, such as a perturbation; None: nothing.
    """
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for graph in _graphs(copy.graph):
        exact = {
            node.input[at]
            for node in graph.node
            for at in _EXACT.get(node.op_type, ())
            if at < len(node.input)
        }
        for constant in graph.initializer:
            keep = change is None or constant.name in exact
            _widen(constant, None if keep else change)
        for value in (*graph.input, *graph.output, *graph.value_info):
            kind = value.type.tensor_type
            if kind.elem_type in _narrow():
                kind.elem_type = onnx.TensorProto.DOUBLE
        for node in graph.node:
            _widen_node(node)
    return copy


def _widen_node(node: Any) -> None:
    import onnx

    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.TENSOR:
            _widen(attribute.t, None)
        elif attribute.name in _TYPES and attribute.i in _narrow():
            attribute.i = onnx.TensorProto.DOUBLE
    if node.op_type == "ConstantOfShape" and not node.attribute:  # float32 by default
        zero = onnx.numpy_helper.from_array(np.zeros(1))
        node.attribute.append(onnx.helper.make_attribute("value", zero))
    if node.op_type == "Constant":
        for attribute in node.attribute:
            if attribute.name in ("value_float", "value_floats"):
                given = attribute.f if attribute.name == "value_float" else list(attribute.floats)
                wide = onnx.numpy_helper.from_array(np.asarray(given, np.float64))
                attribute.CopyFrom(onnx.helper.make_attribute("value", wide))


def _widen(tensor: Any, change: Change | None) -> None:
    import onnx

    if tensor.data_type in _narrow():
        array = onnx.numpy_helper.to_array(tensor).astype(np.float64)
        wide = onnx.numpy_helper.from_array(array if change is None else change(array), tensor.name)
        tensor.CopyFrom(wide)


def _graphs(graph: Any) -> Iterator[Any]:
    """A graph and those inside of its nodes."""
    yield graph
    for node in graph.node:
        for inner in subgraphs(node):
            yield from _graphs(inner)


def _narrow() -> tuple[int, ...]:
    from onnx import TensorProto

    return (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
