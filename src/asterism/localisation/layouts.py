"""Pictures whose channels come first or last, as the file to exchange nodes with takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asterism.localisation.graph import renamed
from asterism.models.foreign.onnx_files import read_onnx

#: How the axes of pictures with channels last are put where channels come first, and back.
_TO_FIRST, _TO_LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def with_other_layout(path: Path, pictures: str, first: bool, target: Path) -> Path:
    """Write a copy of an ONNX model that takes pictures in the other layout.

    Args:
        path: the model.
        pictures: the input of four axes that takes them; the copy's has the same name.
        first: whether the model takes channels first, and the copy last; else the reverse.
        target: where the copy goes.

    Returns:
        ``target``.
    """
    model = read_onnx(path)
    graph = model.graph
    inner = _unused(f"{pictures}_in_own_layout", graph)
    nodes = [renamed(node, {pictures: inner}) for node in graph.node]
    del graph.node[:]
    turn = graph.node.add(op_type="Transpose", name=inner, input=[pictures], output=[inner])
    turn.attribute.add(name="perm", type="INTS", ints=_TO_FIRST if first else _TO_LAST)
    graph.node.extend(nodes)
    (given,) = (value for value in graph.input if value.name == pictures)
    _turn_sizes(given.type.tensor_type.shape.dim, _TO_LAST if first else _TO_FIRST)
    target.write_bytes(model.SerializeToString(deterministic=True))
    return target


def _unused(name: str, graph: Any) -> str:
    """A name that no tensor of a graph has yet."""
    taken = {one for node in graph.node for one in (*node.input, *node.output)}
    while name in taken:
        name += "_"
    return name


def _turn_sizes(sizes: Any, order: Sequence[int]) -> None:
    turned = [sizes[axis].SerializeToString() for axis in order]
    for size, content in zip(sizes, turned, strict=True):
        size.ParseFromString(content)
