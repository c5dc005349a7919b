"""Nodes of an ONNX graph in an order in which they can run; some converters append to the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import Any


def put_in_order(graph: Any) -> None:
    """Put the nodes of a graph in order, each after those that it reads from, in place.

    ONNX asks for it, and ONNX Runtime does without. A graph that is in order stays as it is, and so
    does one that has no order.
    """
    nodes = list(graph.node)
    made = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    after = {at: [made[n] for n in reads_of(node) if n in made] for at, node in enumerate(nodes)}
    if all(earlier < at for at, many in after.items() for earlier in many):
        return
    with suppress(CycleError):
        order = list(TopologicalSorter(after).static_order())
        copies = [type(nodes[at]).FromString(nodes[at].SerializeToString()) for at in order]
        del graph.node[:]
        graph.node.extend(copies)


def reads_of(node: Any) -> Iterator[str]:
    """Names that a node reads, those inside of its graphs too."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node if attribute.HasField("g") else ():
            yield from reads_of(inner)
