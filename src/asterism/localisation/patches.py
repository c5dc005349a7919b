"""Changes to a compressed graph: nodes with other constants, and inserted nodes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from onnx import helper

from asterism.localisation.graph import Array, OnnxGraph

#: Where operators on integers of 16 bits are, before ONNX' own set has them.
MICROSOFT, _WIDE_OPSET = "com.microsoft", 21


class NodePatch:
    """What is changed for one quantised node.

    Args:
        graph: the compressed graph.
        prefix: what the names of new constants and tensors begin with.

    Attributes:
        nodes: nodes of the graph as they become, by index.
        added: nodes that are put in.
        constants: new initialisers.
    """

    def __init__(self, graph: OnnxGraph, prefix: str) -> None:
        self._graph, self._prefix = graph, prefix
        self.nodes: dict[int, Any] = {}
        self.added: list[Any] = []
        self.constants: dict[str, Array] = {}

    def replace(self, index: int, inputs: Mapping[int, Array]) -> Any:
        """Other constants as inputs of a node, by their places; the node as it becomes."""
        node = self.nodes.get(index)
        if node is None:
            node = self.nodes[index] = deepcopy(self._graph.nodes[index])
        for place, values in inputs.items():
            node.input.extend([""] * (place + 1 - len(node.input)))
            node.input[place] = self._constant(f"{index}/{place}", values)
        return node

    def requantise(self, index: int, scale: Array, zero: Array) -> None:
        """Another scale and zero point of a quantising or dequantising node."""
        self._widen(self.replace(index, {1: scale, 2: zero}), zero)

    def dequantise(self, index: int, values: Array, scale: Array, zero: Array, axis: int) -> None:
        """Other constants of a ``DequantizeLinear`` node; an axis below 0 is none."""
        node = self.replace(index, {0: values, 1: scale})
        del node.input[2:]
        node.input.append("")
        self.replace(index, {2: zero})
        del node.attribute[:]
        if axis >= 0:
            node.attribute.append(helper.make_attribute("axis", axis))
        self._widen(node, zero)

    def product(self, index: int, operator: str, attributes: Any, given: tuple[str, str]) -> None:
        """Put an operator on two tensors in the place of a node; what it makes keeps its name."""
        node = self.replace(index, {})
        node.op_type, node.domain = operator, ""
        node.input[:] = given
        del node.attribute[:]
        node.attribute.extend(attributes)

    def quantised(self, tensor: str, scale: Array, zero: Array) -> str:
        """Put both quantising nodes behind a tensor; the name of what they make."""
        names = [self._constant(f"{tensor}/scale", scale), self._constant(f"{tensor}/zero", zero)]
        levels = self._add("QuantizeLinear", [tensor, *names], f"{tensor}/levels", zero)
        return self._add("DequantizeLinear", [levels, *names], f"{tensor}/wide", zero)

    def stored(self, name: str, values: Array, scale: Array, zero: Array, axis: int) -> str:
        """Put in quantised weights; the name of their real numbers."""
        parts = {"values": values, "scale": scale, "zero": zero}
        given = [self._constant(f"{name}/{part}", part_of) for part, part_of in parts.items()]
        made = self._add("DequantizeLinear", given, f"{name}/real", zero)
        if scale.ndim:
            self.added[-1].attribute.append(helper.make_attribute("axis", axis))
        return made

    def _constant(self, name: str, values: Array) -> str:
        full = f"{self._prefix}/{name}"
        self.constants[full] = values
        return full

    def _add(self, operator: str, given: list[str], name: str, zero: Array) -> str:
        made = f"{self._prefix}/{name}"
        node = helper.make_node(operator, given, [made], name=made)
        self._widen(node, zero)
        self.added.append(node)
        return made

    def _widen(self, node: Any, zero: Array) -> None:
        """Take the operator from where there is one for such integers."""
        is_wide = np.asarray(zero).dtype.itemsize > 1
        if is_wide and self._graph.opset() < _WIDE_OPSET:
            node.domain = MICROSOFT
