"""Reducing published models: Algorithm 1 of MEMO.

A model is cut into blocks at the tensors that everything flows through (articulation points).
Inter-block reduction takes out runs of whole blocks, long runs first; intra-block reduction then
takes out branches and single layers. A reduction stays only if shapes and ranks still meet and
every layer type, layer pair and parameter that the original covers is still covered, and only if
the model then computes no more than before: without the pooling before it, a late convolution with
many filters would run on large images. Remaining layers keep their weights; where a neighbour's
channels changed, those of the channels that are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from asterism.memo.graphs.coverage import Coverage, covered_elements
from asterism.memo.graphs.graph import INPUT, Graph, Node
from asterism.memo.universe.layers import universe
from asterism.memo.universe.shapes import per_axis
from asterism.memo.universe.tensors import InvalidLayerError


def reduce_model(graph: Graph) -> Graph:
    """The smallest model that Algorithm 1 reaches from ``graph``, with the same coverage."""
    wanted = covered_elements(graph)
    size = len(graph.nodes) + 1
    while len(graph.nodes) < size:
        size = len(graph.nodes)
        graph = _inter_block(graph, wanted)
        graph = _intra_block(graph, wanted)
    return graph


#: Kinds of coverage that a reduced model must not lose.
KEPT = ("types", "pairs", "parameters")


def keeps_coverage(graph: Graph, wanted: Coverage) -> bool:
    """Whether a reduced model covers all types, pairs and parameters that must not be lost."""
    found = covered_elements(graph).counted
    return all(wanted.counted[kind] <= found[kind] for kind in KEPT)


def _better(smaller: Graph, graph: Graph, wanted: Coverage) -> bool:
    return (
        bool(smaller.layers)
        and count_multiplications(smaller) <= count_multiplications(graph)
        and keeps_coverage(smaller, wanted)
    )


def count_multiplications(graph: Graph) -> int:
    """Multiplications of one inference, roughly: what layers with kernels need, and elements."""
    total = 0
    for identity in graph.layers:
        node, out = graph.nodes[identity], graph.tensors[identity]
        channels = graph.tensors[node.inputs[0]].shape[-1]
        window = prod(per_axis(node.config.get("kernel_size", 1), 1))
        if node.type.startswith("Separable"):
            total += window * channels * out.size // out.shape[-1] + channels * out.size
        elif "filters" in node.config or "units" in node.config:
            total += window * channels * out.size // node.config.get("groups", 1)
        else:
            total += window * out.size
    return total


def articulation_points(graph: Graph) -> list[int]:
    """Nodes that every path from the inputs to the outputs goes through, in order.

    They are where the model can be cut into blocks: single entry, single exit.
    """
    order = list(graph.nodes)
    last_reader = {
        i: max((order.index(r) for r in graph.consumers[i]), default=len(order)) for i in order
    }
    points, open_until = [], 0
    for at, identity in enumerate(order):
        if at >= open_until:
            points.append(identity)
        open_until = max(open_until, last_reader[identity])
    return points


def bypass(graph: Graph, entry: int, end: int) -> Graph | None:
    """The graph where readers of ``end`` read ``entry``; None where shapes do not meet."""
    try:
        if end in graph.outputs:
            return graph.keep([entry if o == end else o for o in graph.outputs])
        return graph.redirect(end, entry).keep(graph.outputs)
    except InvalidLayerError:
        return None


def without_branch(graph: Graph, merge: int, at: int) -> Graph | None:
    """The graph where a merging layer no longer reads one of its inputs."""
    node = graph.nodes[merge]
    rest = node.inputs[:at] + node.inputs[at + 1 :]
    try:
        if len(rest) < universe()[node.type].arity[0]:
            return bypass(graph, rest[0], merge) if rest else None
        return graph.change(merge, inputs=rest).keep(graph.outputs)
    except InvalidLayerError:
        return None


def _inter_block(graph: Graph, wanted: Coverage) -> Graph:
    """Take out runs of blocks, as long as half of all blocks first."""
    length = max(len(articulation_points(graph)) // 2, 1)
    while length >= 1:
        start = 0
        while start + length < len(points := articulation_points(graph)):
            shorter = bypass(graph, points[start], points[start + length])
            if shorter is not None and _better(shorter, graph, wanted):
                graph = shorter
            else:
                start += 1
        length //= 2
    return graph


def _intra_block(graph: Graph, wanted: Coverage) -> Graph:
    """Take out branches of merging layers, then single layers, the late ones first."""
    for identity in reversed(list(graph.nodes)):
        if identity not in graph.nodes or graph.nodes[identity].type == INPUT:
            continue
        for smaller in _smaller(graph, identity):
            if _better(smaller, graph, wanted):
                graph = smaller
                break
    return graph


def _smaller(graph: Graph, identity: int) -> Iterator[Graph]:
    node = graph.nodes[identity]
    if len(node.inputs) > 1:
        for at in reversed(range(len(node.inputs))):
            smaller = without_branch(graph, identity, at)
            if smaller is not None:
                yield smaller
    for source in node.inputs:
        smaller = bypass(graph, source, identity)
        if smaller is not None:
            yield smaller


def renumber_nodes(graph: Graph) -> Graph:
    """The same graph with identities from 0, so that names in reports stay short."""
    new = {old: at for at, old in enumerate(graph.nodes)}
    return Graph(
        {new[i]: replace(n, inputs=tuple(new[s] for s in n.inputs)) for i, n in graph.nodes.items()}
    )


#: Parameters that say how many channels a layer puts out.
WIDTHS = ("filters", "units")


def narrow_layers(graph: Graph, width: int | None) -> Graph:
    """The graph with layers of at most ``width`` channels or units, as far as shapes still meet.

    A layer of hundreds of channels takes longer to build, to convert and to run than one of a few,
    and is computed by the same code of a library.

    The same layers, pairs and parameters are covered. Layers keep their weights for the channels
    that are left. All layers are narrowed at once, as branches that are added need. Where that
    leaves no valid graph, layers are narrowed one by one, and those that cannot be stay wide.
    Without a width nothing is narrowed.
    """
    if width is None:
        return graph
    wide = [i for i in graph.layers if _narrow(graph.nodes[i], width) != graph.nodes[i]]
    if (smaller := _with_narrow(graph, wide, width)) is not None:
        return smaller
    for identity in wide:
        graph = _with_narrow(graph, [identity], width) or graph
    return graph


def _with_narrow(graph: Graph, wide: Sequence[int], width: int) -> Graph | None:
    """The graph with some layers narrowed; None where shapes do not meet or coverage is lost."""
    narrow = {i: _narrow(graph.nodes[i], width) for i in wide}
    try:
        smaller = graph.with_nodes({**graph.nodes, **narrow})
    except InvalidLayerError:
        return None
    return smaller if keeps_coverage(smaller, covered_elements(graph)) else None


def _narrow(node: Node, width: int) -> Node:
    sizes = {name: node.config[name] for name in WIDTHS if name in node.config}
    smaller = {name: min(size, width) for name, size in sizes.items()}
    return node if smaller == sizes else replace(node, config={**node.config, **smaller})
