"""A file in 16-bit numbers as a device computes it: in 32 bits, rounded to 16 after each node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from asterism.core.messages.errors import UserError
from asterism.localisation.graph import OnnxGraph, subgraphs

_TYPES = onnx.TensorProto.DataType
#: Types of 16 bits, by the names that ONNX Runtime has for them.
HALVES = {"float16": _TYPES.Value("FLOAT16"), "bfloat16": _TYPES.Value("BFLOAT16")}
#: Attributes that name the type of what a node gives.
_TYPE_ATTRIBUTES = ("to", "dtype")


def rounded(graph: OnnxGraph, types: Mapping[str, str]) -> Any:
    """A model in 32 bits that rounds each tensor of 16 bits as its file says.

    Sums within a node are in 32 bits, as most devices have them.

    Args:
        graph: of the file, without ``Constant`` nodes.
        types: the tensors that are rounded, with their types.

    Raises:
        UserError: the file has control flow.
    """
    if any(True for node in graph.nodes for _ in subgraphs(node)):
        raise UserError("nodes of control flow are not rewritten")
    model = type(graph.model)()
    model.CopyFrom(graph.model)
    del model.graph.value_info[:]
    for tensor in model.graph.initializer:
        if tensor.data_type in HALVES.values():
            tensor.CopyFrom(_wide(tensor))
    asked = {value.name: value for value in [*model.graph.input, *model.graph.output]}
    for value in asked.values():
        if value.type.tensor_type.elem_type in HALVES.values():
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    nodes = []
    for node in model.graph.node:
        copy = type(node)()
        copy.CopyFrom(node)
        _widen(copy)
        roundings = []
        for place, name in enumerate(node.output):
            if name in types:
                copy.output[place] = f"{name}:exact"
                roundings += _rounding(f"{name}:exact", name, HALVES[types[name]])
        nodes += [copy, *roundings]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def _wide(tensor: Any) -> Any:
    values = np.asarray(numpy_helper.to_array(tensor)).astype(np.float32)
    return numpy_helper.from_array(values, tensor.name)


def _widen(node: Any) -> None:
    """Let a node give numbers of 32 bits where its attributes say 16."""
    for attribute in node.attribute:
        if attribute.name in _TYPE_ATTRIBUTES and attribute.i in HALVES.values():
            attribute.i = onnx.TensorProto.FLOAT
        elif attribute.HasField("t") and attribute.t.data_type in HALVES.values():
            attribute.t.CopyFrom(_wide(attribute.t))


def _rounding(given: str, made: str, kind: int) -> list[Any]:
    half = f"{made}:half"
    return [
        helper.make_node("Cast", [given], [half], f"{made}:round", to=kind),
        helper.make_node("Cast", [half], [made], f"{made}:widen", to=onnx.TensorProto.FLOAT),
    ]
