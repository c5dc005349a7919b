"""What nodes of an ONNX graph take, and an order in which they can run."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any


def subgraphs(node: Any) -> Iterator[Any]:
    """The graphs in a node's attributes."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def inputs_of(node: Any) -> Iterator[str]:
    """Names of all tensors that a node takes, also those that only its inner graphs take."""
    yield from (name for name in node.input if name)
    for inner in subgraphs(node):
        own = {value.name for value in inner.input} | {c.name for c in inner.initializer}
        own |= {name for part in inner.node for name in part.output}
        taken = [name for part in inner.node for name in inputs_of(part)]
        yield from (n for n in [*taken, *(o.name for o in inner.output)] if n not in own)


def ordered(nodes: Sequence[Any]) -> list[int]:
    """Indices of nodes so that each stands behind those whose tensors it takes.

    Of nodes that are ready, the one that stands first in the file comes first.
    """
    makers = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    waits = [{makers[n] for n in inputs_of(node) if n in makers} for node in nodes]
    followers: dict[int, list[int]] = {}
    for index, needed in enumerate(waits):
        for other in needed:
            followers.setdefault(other, []).append(index)
    ready = [index for index, needed in enumerate(waits) if not needed]
    heapq.heapify(ready)
    found = []
    while ready:
        index = heapq.heappop(ready)
        found.append(index)
        for follower in followers.get(index, ()):
            waits[follower].discard(index)
            if not waits[follower]:
                heapq.heappush(ready, follower)
    return found


def put_in_order(graph: Any) -> None:
    """Put the nodes of a graph in an order in which they can run, in place.

    ONNX asks for it, some converters append to the end, and ONNX Runtime does without. A graph that
    is in order stays as it is, and so does one that has no order.
    """
    nodes = list(graph.node)
    order = ordered(nodes)
    if order != sorted(order) and len(order) == len(nodes):
        copies = [type(nodes[at]).FromString(nodes[at].SerializeToString()) for at in order]
        del graph.node[:]
        graph.node.extend(copies)
