"""An ONNX graph as a network of tensors: which node produces each, and which nodes consume it.

A graph is changed by giving nodes other constants, and by inserting nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from asterism.models.onnx_graphs import node_inputs, own_opset, subgraphs, topological_order

Array = NDArray[Any]


class OnnxGraph:
    """An index of an ONNX model, which leaves the model unchanged.

    Args:
        model: an ``onnx.ModelProto`` with unique tensor names, as ONNX demands.

    Attributes:
        nodes: the nodes, in the file's order.
        maker: index of the node that makes a tensor.
        takers: indices of the nodes that take a tensor, also inside the graphs of control flow.
        constants: initialisers by name.
        inputs: names of what the user gives, in order.
        outputs: names of what the graph gives, in order.
        varying: names of the tensors that depend on an input.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.nodes = list(model.graph.node)
        self.constants = {tensor.name: tensor for tensor in model.graph.initializer}
        self.inputs = [i.name for i in model.graph.input if i.name not in self.constants]
        self.outputs = [output.name for output in model.graph.output]
        self.maker: dict[str, int] = {}
        self.takers: dict[str, list[int]] = {}
        self.varying = set(self.inputs)
        for index in topological_order(self.nodes):
            node = self.nodes[index]
            taken = list(dict.fromkeys(node_inputs(node)))
            for name in taken:
                self.takers.setdefault(name, []).append(index)
            depends = any(name in self.varying for name in taken) or node.op_type.startswith("Rand")
            for name in node.output:
                if name:
                    self.maker[name] = index
                    if depends:
                        self.varying.add(name)

    def maker_of(self, tensor: str) -> Any:
        """The node that makes a tensor, or None."""
        index = self.maker.get(tensor)
        return None if index is None else self.nodes[index]

    def value(self, tensor: str) -> Array | None:
        """The values of an initialiser, or None for a tensor that is none."""
        constant = self.constants.get(tensor)
        return None if constant is None else np.asarray(numpy_helper.to_array(constant))

    def name_of(self, index: int) -> str:
        """A node's name, or the name of its first output where it has none."""
        node = self.nodes[index]
        return str(node.name or node.output[0])


def rename_tensors(node: Any, names: Mapping[str, str]) -> Any:
    """A copy of a node that takes other tensors; tensors without an entry keep their names."""
    copy = deepcopy(node)
    _rename_inputs(copy, names)
    return copy


def _rename_inputs(node: Any, names: Mapping[str, str]) -> None:
    node.input[:] = [names.get(name, name) for name in node.input]
    for inner in subgraphs(node):
        own = {name for part in inner.node for name in part.output}
        own |= {value.name for value in inner.input} | {c.name for c in inner.initializer}
        outer = {name: new for name, new in names.items() if name not in own}
        for part in inner.node:
            _rename_inputs(part, outer)
        for output in inner.output:
            output.name = outer.get(output.name, output.name)


def find_upstream_nodes(
    graph: OnnxGraph, tensors: Iterable[str], stops: Callable[[str], bool]
) -> set[int]:
    """Indices of the nodes that compute given tensors, back to tensors where ``stops`` is true."""
    found: set[int] = set()
    waiting = list(tensors)
    while waiting:
        index = graph.maker.get(waiting.pop())
        if index is None or index in found:
            continue
        found.add(index)
        waiting.extend(name for name in node_inputs(graph.nodes[index]) if not stops(name))
    return found


def assemble_model(
    template: Any,
    nodes: Sequence[Any],
    constants: Mapping[str, Any],
    outputs: Sequence[Any],
    imports: Mapping[str, int],
) -> Any:
    """A model of nodes and initialisers, without those on which no output depends.

    Args:
        template: the model whose inputs and format version it has.
        nodes: in any order.
        constants: initialisers by their names in the new graph.
        outputs: descriptions of the outputs.
        imports: versions of the operator sets, by domain.

    Returns:
        An ``onnx.ModelProto``; equal arguments give equal bytes.
    """
    makers = {name: node for node in nodes for name in node.output if name}
    needed: set[int] = set()
    used: set[str] = set()
    waiting = [output.name for output in outputs]
    while waiting:
        name = waiting.pop()
        if name in used:
            continue
        used.add(name)
        node = makers.get(name)
        if node is not None and id(node) not in needed:
            needed.add(id(node))
            waiting.extend(node_inputs(node))
    kept = [node for node in nodes if id(node) in needed]
    model = type(template)(ir_version=template.ir_version, producer_name="asterism")
    for domain, version in imports.items():
        model.opset_import.add(domain=domain, version=version)
    graph = model.graph
    graph.name = template.graph.name or "model"
    initialised = {tensor.name for tensor in template.graph.initializer}
    graph.input.extend(i for i in template.graph.input if i.name not in initialised)
    graph.output.extend(outputs)
    graph.node.extend(kept[index] for index in topological_order(kept))
    for name, tensor in constants.items():
        if name in used:
            graph.initializer.append(tensor)
            graph.initializer[-1].name = name
    return model


#: Where operators on integers of 16 bits are, before ONNX' own set has them.
MICROSOFT, _WIDE_OPSET = "com.microsoft", 21


class NodePatch:
    """Changes to the compressed graph for one quantised node.

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
        """Replace inputs of a node by constants, by position; returns the new node."""
        node = self.nodes.get(index)
        if node is None:
            node = self.nodes[index] = deepcopy(self._graph.nodes[index])
        for place, values in inputs.items():
            node.input.extend([""] * (place + 1 - len(node.input)))
            node.input[place] = self._constant(f"{index}/{place}", values)
        return node

    def requantise(self, index: int, scale: Array, zero: Array) -> None:
        """Give a quantising or dequantising node another scale and zero point."""
        self._widen(self.replace(index, {1: scale, 2: zero}), zero)

    def dequantise(self, index: int, values: Array, scale: Array, zero: Array, axis: int) -> None:
        """Give a ``DequantizeLinear`` node other constants; an axis below 0 means none."""
        node = self.replace(index, {0: values, 1: scale})
        del node.input[2:]
        node.input.append("")
        self.replace(index, {2: zero})
        del node.attribute[:]
        if axis >= 0:
            node.attribute.append(helper.make_attribute("axis", axis))
        self._widen(node, zero)

    def product(self, index: int, operator: str, attributes: Any, given: tuple[str, str]) -> None:
        """Replace a node by an operator on two tensors; the output keeps its name."""
        node = self.replace(index, {})
        node.op_type, node.domain = operator, ""
        node.input[:] = given
        del node.attribute[:]
        node.attribute.extend(attributes)

    def quantised(self, tensor: str, scale: Array, zero: Array) -> str:
        """Add both quantising nodes after a tensor; returns the name of the new tensor."""
        names = [self._constant(f"{tensor}/scale", scale), self._constant(f"{tensor}/zero", zero)]
        levels = self._add("QuantizeLinear", [tensor, *names], f"{tensor}/levels", zero)
        return self._add("DequantizeLinear", [levels, *names], f"{tensor}/wide", zero)

    def stored(self, name: str, values: Array, scale: Array, zero: Array, axis: int) -> str:
        """Add quantised weights; returns the name of their real numbers."""
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
        if is_wide and own_opset(self._graph.model) < _WIDE_OPSET:
            node.domain = MICROSOFT
