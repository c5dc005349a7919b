"""The quantised nodes of a compressed graph: what can be computed in float instead, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from asterism.localisation.graph import Array, OnnxGraph, find_upstream_nodes
from asterism.localisation.matching import (
    Counterpart,
    constant_value,
    constants_of,
    match_tensors,
    scale_of,
    tensors_by_counterpart,
)
from asterism.localisation.qoperators import MOVES
from asterism.localisation.reading import OpenedPair
from asterism.models.onnx_graphs import node_inputs, subgraphs

#: Operators that name a node which several nodes of the original are computed as.
_MAIN = ("Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "Attention", "Gather")
_WEIGHTED = ("Conv", "ConvTranspose", "MatMul", "Gemm")
#: Operators whose constants can be quantised anew.
_TWINNED = (*_WEIGHTED, "LSTM")
#: Operators of which all constants are compared: these, and those that take vectors of a table.
_COMPARED = (*_WEIGHTED, "Gather")
#: Operators of which all weights are compared: recurrent layers, and control flow with what is in
#: it, where exporters put a streaming model's layers.
_WHOLE = ("LSTM", "GRU", "RNN", "If", "Loop", "Scan")
#: Float operators that quantised ones stand for.
_PLAIN = {
    "MatMulInteger": "MatMul",
    "MatMulIntegerToFloat": "MatMul",
    "DynamicQuantizeMatMul": "MatMul",
    "ConvInteger": "Conv",
    "DynamicQuantizeLSTM": "LSTM",
}
#: Parts of the names of operators that quantise, or compute with few bits.
_QUANTISED = ("Quantize", "Integer", "QLinear", "QGemm", "QAttention", "QEmbed", "NBits", "Bnb4")


@dataclass(frozen=True)
class QuantisedNode:
    """A node of the original that the compressed model computes with fewer bits or other weights.

    Quantisation of its weights belongs to a node, and that of its output, where all nodes that
    take the output share one quantiser; else each owns the quantiser that it takes its input from.
    Nodes whose output has the very scale of their input belong to the node before them: those
    that only move elements (``Reshape``, ``MaxPool``), and others whose file shares the constant.
    The quantiser of a graph's input is a node of its own.

    Attributes:
        name: its name in the original.
        operator: its type.
        position: index in the original's order; -1 of an input's quantiser.
        members: indices of the original's nodes that are exchanged together.
        outputs: names of the original's tensors that it makes.
        body: indices of the compressed graph's nodes that compute them, with quantisers.
    """

    name: str
    operator: str
    position: int
    members: tuple[int, ...]
    outputs: tuple[str, ...]
    body: tuple[int, ...]


@dataclass(frozen=True)
class MatchedPair:
    """A pair with its matched tensors and quantised nodes, in the original's order.

    Attributes:
        opened: the two graphs.
        tensors: counterparts by the original's names.
        nodes: the quantised nodes.
        twins: of the compressed graph's nodes, the original's node of the same operator that each
            stands for, where there is one; indices.
    """

    opened: OpenedPair
    tensors: dict[str, Counterpart]
    nodes: tuple[QuantisedNode, ...]
    twins: dict[int, int]

    def constant(self, index: int, place: int) -> Array | None:
        """The original's values of a compressed node's weight or bias; None if unknown.

        They are laid out as the original's operator takes them, and as a product does where a
        product stands for a ``Gemm``.
        """
        twin = self.twins.get(index)
        node = None if twin is None else self.opened.original.nodes[twin]
        if node is None or place >= len(node.input):
            return None
        value = constant_value(self.opened.original, node.input[place])
        is_product = float_operator(self.opened.compressed.nodes[index]) == "MatMul"
        if value is None or node.op_type != "Gemm" or not is_product:
            return value
        given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if given.get("transA") or given.get("alpha", 1.0) != 1.0:
            return None
        return value.T if place == 1 and given.get("transB") else value


def float_operator(node: Any) -> str:
    """A node's operator, or the float operator that a quantised one replaces."""
    return _PLAIN.get(node.op_type, str(node.op_type))


def match_nodes(pair: OpenedPair) -> MatchedPair:
    """Match the tensors and find the quantised nodes."""
    tensors = match_tensors(pair)
    owner = tensors_by_counterpart(tensors)
    original, compressed = pair.original, pair.compressed
    groups = _Groups()
    for tensor, part in tensors.items():
        inside = _members(pair, tensors, tensor)
        groups.add(tensor, inside)
        for index in inside:
            node = original.nodes[index]
            source = next((name for name in node.input if name in original.varying), "")
            is_move = node.op_type in MOVES
            if source in tensors and _share_a_scale(pair, tensors[source], part, is_move):
                groups.unite(tensor, source)
    nodes = []
    for outputs in groups.united():
        members = sorted({i for tensor in outputs for i in _members(pair, tensors, tensor)})
        body: set[int] = set()
        for tensor in outputs:
            part = tensors[tensor]
            own = {part.raw, *part.final}

            def stops(name: str, own: set[str] = own) -> bool:
                return name in owner and name not in own

            body |= find_upstream_nodes(compressed, part.final, stops)
        if _is_quantised(pair, body, outputs) or _has_other_weights(pair, members, body):
            nodes.append(_node(pair, members, outputs, body))
    nodes.sort(key=lambda node: (node.position, node.name))
    twins = {
        i: twin
        for node in nodes
        for i in node.body
        if (twin := _twin_by_output(pair, owner, i)) >= 0
        or (twin := _twin(pair, node.members, i, _TWINNED)) >= 0
    }
    return MatchedPair(pair, tensors, tuple(nodes), twins)


def _twin_by_output(pair: OpenedPair, owner: dict[str, str], index: int) -> int:
    """The original's node of the same operator that makes the matched tensor; -1 of no one."""
    node = pair.compressed.nodes[index]
    tensors = {owner[name] for name in node.output if name in owner}
    makers = {pair.original.maker[t] for t in tensors if t in pair.original.maker}
    same = [i for i in makers if pair.original.nodes[i].op_type == node.op_type]
    return same[0] if len(same) == 1 else -1


def _twin(pair: OpenedPair, members: Sequence[int], index: int, operators: Sequence[str]) -> int:
    """The original's node that a node of one of the operators stands for; -1 of no one."""
    node = pair.compressed.nodes[index]
    operator = float_operator(node)
    same = [i for i in members if pair.original.nodes[i].op_type == operator]
    is_turned = any(a.name == "transB" and a.i for a in node.attribute)
    other = {"Gemm": "MatMul", "MatMul": "Gemm"}.get(operator)
    if other and not same and not (operator == "Gemm" and is_turned):
        same = [i for i in members if pair.original.nodes[i].op_type == other]
    return same[0] if len(same) == 1 and operator in operators else -1


def _members(pair: OpenedPair, tensors: dict[str, Counterpart], tensor: str) -> set[int]:
    """The original's nodes between matched tensors and this one."""
    original = pair.original
    found = find_upstream_nodes(original, [tensor], lambda name: name in tensors)
    return {i for i in found if any(n in original.varying for n in original.nodes[i].output)}


class _Groups:
    """Matched tensors that are exchanged together."""

    def __init__(self) -> None:
        self._root: dict[str, str] = {}
        self._by_node: dict[int, str] = {}

    def add(self, tensor: str, members: Iterable[int]) -> None:
        self._root.setdefault(tensor, tensor)
        for index in members:
            self.unite(self._by_node.setdefault(index, tensor), tensor)

    def unite(self, one: str, other: str) -> None:
        self._root.setdefault(one, one)
        self._root.setdefault(other, other)
        self._root[self._find(one)] = self._find(other)

    def united(self) -> list[tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for tensor in self._root:
            found.setdefault(self._find(tensor), []).append(tensor)
        return [tuple(tensors) for tensors in found.values()]

    def _find(self, tensor: str) -> str:
        while self._root[tensor] != tensor:
            tensor = self._root[tensor]
        return tensor


def _share_a_scale(pair: OpenedPair, source: Counterpart, result: Counterpart, equal: bool) -> bool:
    """Whether both quantisers have the same constants, or equal ones where these are enough."""
    if not source.quantiser or not result.quantiser:
        return False
    graph, indices = pair.compressed, (source.quantiser[0], result.quantiser[0])
    if equal:
        return len({scale_of(graph, index) for index in indices}) == 1
    return len({tuple(graph.nodes[index].input[1:]) for index in indices}) == 1


def _is_quantised(pair: OpenedPair, body: set[int], outputs: tuple[str, ...]) -> bool:
    graph = pair.compressed
    if any(part in graph.nodes[i].op_type for i in body for part in _QUANTISED):
        return True
    made = [name for index in body for name in graph.nodes[index].output]
    return any(pair.compressed_types.get(name) == "float16" for name in made) and any(
        pair.original_types.get(tensor) == "float" for tensor in outputs
    )


def _has_other_weights(pair: OpenedPair, members: Sequence[int], body: set[int]) -> bool:
    """Whether weights were rounded or pruned and are stored as floats again."""
    for index in body:
        whole = _twin(pair, members, index, _WHOLE)
        if whole >= 0:
            graphs = (pair.original, whole), (pair.compressed, index)
            if len({tuple(_weights(g, g.nodes[i])) for g, i in graphs}) > 1:
                return True
        twin = _twin(pair, members, index, _COMPARED)
        if twin >= 0:
            one = constants_of(pair.original, pair.original.nodes[twin])
            other = constants_of(pair.compressed, pair.compressed.nodes[index])
            turns = pair.original.nodes[twin].op_type != pair.compressed.nodes[index].op_type
            pairs = zip(one, other, strict=False)
            if not all(
                np.array_equal(a, b) or (turns and np.array_equal(a.T, b)) for a, b in pairs
            ):
                return True
    return False


def _weights(graph: OnnxGraph, node: Any) -> list[bytes]:
    """All constant floats, but single ones, that a node or a graph in it takes; in any order."""
    arrays = [graph.value(name) for name in node_inputs(node)]
    parts = [node]
    while parts:
        for inner in subgraphs(parts.pop()):
            parts.extend(inner.node)
            tensors = [*inner.initializer, *(a.t for n in inner.node for a in n.attribute)]
            arrays += [numpy_helper.to_array(tensor) for tensor in tensors if tensor.dims]
    floats = [a for a in arrays if a is not None and a.dtype.kind == "f" and a.size > 1]
    return sorted(array.tobytes() for array in floats)


def _node(
    pair: OpenedPair, members: list[int], outputs: tuple[str, ...], body: set[int]
) -> QuantisedNode:
    original, compressed = pair.original, pair.compressed
    if not members:
        first = next(i for i in sorted(body) if "Quantize" in compressed.nodes[i].op_type)
        name, operator, position = compressed.name_of(first), compressed.nodes[first].op_type, -1
    else:
        main = [i for i in members if original.nodes[i].op_type in _MAIN]
        position = main[0] if main else members[0]
        name, operator = original.name_of(position), original.nodes[position].op_type
    return QuantisedNode(name, operator, position, tuple(members), outputs, tuple(sorted(body)))
