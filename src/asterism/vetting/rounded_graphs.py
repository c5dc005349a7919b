"""A file in 16-bit numbers as a device computes it: in 32 bits, rounded to 16 after each node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnx import ModelProto, TensorProto, helper

from asterism.core.messages.errors import UserError
from asterism.localisation.graph import OnnxGraph, renamed, subgraphs
from asterism.models.onnx_graphs.wider_floats import in_float32

#: Types of 16 bits, by the names that ONNX Runtime has for them.
HALVES = {"float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}


def rounded(graph: OnnxGraph, types: Mapping[str, str]) -> ModelProto:
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
    model = in_float32(graph.model)
    del model.graph.value_info[:]
    nodes = []
    for node in model.graph.node:
        copy, roundings = renamed(node, {}), []
        for place, name in enumerate(node.output):
            if name in types:
                copy.output[place] = f"{name}:exact"
                roundings += _rounding(f"{name}:exact", name, HALVES[types[name]])
        nodes += [copy, *roundings]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def _rounding(given: str, made: str, kind: int) -> list[Any]:
    half = f"{made}:half"
    return [
        helper.make_node("Cast", [given], [half], f"{made}:round", to=kind),
        helper.make_node("Cast", [half], [made], f"{made}:widen", to=TensorProto.FLOAT),
    ]
