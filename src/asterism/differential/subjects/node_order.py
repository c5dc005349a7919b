"""Nodes of an ONNX graph in an order in which they can run; some converters append to the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def put_in_order(graph: Any) -> None:
    """Put the nodes of a graph in order, each after those that it reads from, in place.

    ONNX asks for it, and ONNX Runtime does without. A graph that is in order stays as it is, and so
    does one that has no order.
    """
    nodes = list(graph.node)
    made = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    after = [sorted({made[n] for n in reads_of(node) if n in made}) for node in nodes]
    if all(earlier < at for at, many in enumerate(after) for earlier in many):
        return
    order = list(_ordered(after))
    if len(order) == len(nodes):
        copies = [type(nodes[at]).FromString(nodes[at].SerializeToString()) for at in order]
        del graph.node[:]
        graph.node.extend(copies)


def _ordered(after: list[list[int]]) -> Iterator[int]:
    """Numbers, each after those that it follows; those in a circle are left out."""
    left = [len(many) for many in after]
    followers: list[list[int]] = [[] for _ in after]
    for at, many in enumerate(after):
        for earlier in many:
            followers[earlier].append(at)
    ready = [at for at, count in enumerate(left) if not count]
    for at in ready:  # grows while it is gone through
        yield at
        for follower in followers[at]:
            left[follower] -= 1
            if not left[follower]:
                ready.append(follower)


def reads_of(node: Any) -> Iterator[str]:
    """Names that a node reads, those inside of its graphs too."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node if attribute.HasField("g") else ():
            yield from reads_of(inner)
