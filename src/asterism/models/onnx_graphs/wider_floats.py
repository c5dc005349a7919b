"""ONNX models in wider floats: every floating constant, cast and declaration becomes wider."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.models.onnx_graphs.node_order import subgraphs

if TYPE_CHECKING:  # a worker in another environment may have no ONNX
    from onnx import ModelProto

#: Types of floats, the narrower ones first.
_FLOATS = ("FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE")
#: Attributes that name the type of what a node makes.
_TYPES = ("to", "dtype")

#: Inputs that decide about shapes or axes, by operator: exact numbers, which no rounding moves.
_EXACT = {"Resize": (1, 2, 3), "Upsample": (1,), "Range": (0, 1, 2), "OneHot": (1,)}

Change = Callable[[NDArray[Any]], NDArray[Any]]


def in_float64(model: ModelProto, change: Change | None = None) -> ModelProto:
    """A copy of a model that computes in float64 what it computed in narrower floats.

    Args:
        model: the model.
        change: what happens to the floating initialisers, such as a perturbation; None: nothing.
    """
    return _widened(model, "DOUBLE", change)


def in_float32(model: ModelProto) -> ModelProto:
    """A copy of a model that computes in float32 what it computed in 16 bits."""
    return _widened(model, "FLOAT", None)


def _widened(model: ModelProto, float_type: str, change: Change | None) -> ModelProto:
    from onnx import ModelProto, TensorProto

    *narrow, wide = map(TensorProto.DataType.Value, _FLOATS[: _FLOATS.index(float_type) + 1])
    copy = ModelProto()
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
            _widen(constant, narrow, wide, None if keep else change)
        for value in (*graph.input, *graph.output, *graph.value_info):
            kind = value.type.tensor_type
            if kind.elem_type in narrow:
                kind.elem_type = wide
        for node in graph.node:
            _widen_node(node, narrow, wide)
    return copy


def _widen_node(node: Any, narrow: Sequence[int], wide: int) -> None:
    from onnx import AttributeProto, helper, numpy_helper

    for attribute in node.attribute:
        if attribute.type == AttributeProto.TENSOR:
            _widen(attribute.t, narrow, wide, None)
        elif attribute.name in _TYPES and attribute.i in narrow:
            attribute.i = wide
    dtype = helper.tensor_dtype_to_np_dtype(wide)
    if node.op_type == "ConstantOfShape" and not node.attribute:  # float32 by default
        zero = numpy_helper.from_array(np.zeros(1, dtype))
        node.attribute.append(helper.make_attribute("value", zero))
    if node.op_type == "Constant":
        for attribute in node.attribute:
            if attribute.name in ("value_float", "value_floats"):
                given = attribute.f if attribute.name == "value_float" else list(attribute.floats)
                constant = numpy_helper.from_array(np.asarray(given, dtype))
                attribute.CopyFrom(helper.make_attribute("value", constant))


def _widen(tensor: Any, narrow: Sequence[int], wide: int, change: Change | None) -> None:
    from onnx import helper, numpy_helper

    if tensor.data_type in narrow:
        dtype = helper.tensor_dtype_to_np_dtype(wide)
        array = np.asarray(numpy_helper.to_array(tensor)).astype(dtype)
        wider = numpy_helper.from_array(array if change is None else change(array), tensor.name)
        tensor.CopyFrom(wider)


def _graphs(graph: Any) -> Iterator[Any]:
    """A graph and those inside of its nodes."""
    yield graph
    for node in graph.node:
        for inner in subgraphs(node):
            yield from _graphs(inner)
