"""The quantised nodes of a compressed graph: what can be computed in float instead, one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from asterism.localisation.graph import cone, inputs_of
from asterism.localisation.matching import Counterpart, match_tensors, scale_of
from asterism.localisation.qoperators import MOVES
from asterism.localisation.reading import OpenedPair

#: Operators that name a node which several nodes of the original are computed as.
_MAIN = ("Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "Attention", "Gather")
#: Parts of the names of operators that quantise, or compute with few bits.
_QUANTISED = ("Quantize", "Integer", "QLinear", "QGemm", "QAttention", "QEmbed", "NBits", "Bnb4")


@dataclass(frozen=True)
class QuantisedNode:
    """A node of the original that the compressed model computes with fewer bits.

    Quantisation of its weights belongs to a node, and that of its output, where all nodes that
    take the output share one quantiser; else each owns the quantiser that it takes its input from.
    Nodes that only move elements (``Reshape``, ``MaxPool``) and keep the scale belong to the node
    before them. The quantiser of a graph's input is a node of its own.

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
    """

    opened: OpenedPair
    tensors: dict[str, Counterpart]
    nodes: tuple[QuantisedNode, ...]


def match(pair: OpenedPair) -> MatchedPair:
    """Match the tensors and find the quantised nodes."""
    tensors = match_tensors(pair)
    owner = {n: tensor for tensor, part in tensors.items() for n in (part.raw, *part.final)}
    original, compressed = pair.original, pair.compressed
    groups = _Groups()
    for tensor, part in tensors.items():
        inside = _members(pair, tensors, tensor)
        groups.add(tensor, inside)
        for index in inside:
            node = original.nodes[index]
            source = next((name for name in node.input if name in original.varying), "")
            if node.op_type in MOVES and _share_a_scale(pair, tensors.get(source), part):
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

            body |= cone(compressed, part.final, stops)
        if _is_quantised(pair, body, outputs):
            nodes.append(_node(pair, members, outputs, body))
    return MatchedPair(pair, tensors, tuple(sorted(nodes, key=lambda n: (n.position, n.name))))


def _members(pair: OpenedPair, tensors: dict[str, Counterpart], tensor: str) -> set[int]:
    """The original's nodes between matched tensors and this one."""
    original = pair.original
    found = cone(original, [tensor], lambda name: name in tensors)
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


def _share_a_scale(pair: OpenedPair, source: Counterpart | None, result: Counterpart) -> bool:
    if source is None or not source.quantiser or not result.quantiser:
        return False
    scales = {scale_of(pair.compressed, p.quantiser[0]) for p in (source, result)}
    return len(scales) == 1


def _is_quantised(pair: OpenedPair, body: set[int], outputs: tuple[str, ...]) -> bool:
    graph = pair.compressed
    if any(part in graph.nodes[i].op_type for i in body for part in _QUANTISED):
        return True
    made = [name for index in body for name in graph.nodes[index].output]
    return any(pair.compressed_types.get(name) == "float16" for name in made) and any(
        pair.original_types.get(tensor) == "float" for tensor in outputs
    )


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


def taken_by(pair: MatchedPair, node: QuantisedNode) -> list[str]:
    """The original's matched tensors that a quantised node takes."""
    graph = pair.opened.original
    names = [name for index in node.members for name in inputs_of(graph.nodes[index])]
    return [n for n in dict.fromkeys(names) if n in pair.tensors and n not in node.outputs]
