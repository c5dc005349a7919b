"""Narrowing wide layers of seed models.

A layer of hundreds of channels takes longer to build, to convert and to run than one of a few, and
is computed by the same code of a library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asterism.differential.reducing.reduce import keeps
from asterism.memo.graphs.coverage import elements_of
from asterism.memo.graphs.graph import Graph, Node
from asterism.memo.universe.tensors import InvalidLayerError

#: Parameters that say how many channels a layer puts out.
WIDTHS = ("filters", "units")


def narrowed(graph: Graph, width: int | None) -> Graph:
    """The graph with layers of at most ``width`` channels or units, as far as shapes still meet.

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
    return smaller if keeps(smaller, elements_of(graph)) else None


def _narrow(node: Node, width: int) -> Node:
    sizes = {name: node.config[name] for name in WIDTHS if name in node.config}
    smaller = {name: min(size, width) for name, size in sizes.items()}
    return node if smaller == sizes else replace(node, config={**node.config, **smaller})
