"""Copies of ONNX models whose inputs and outputs have their axes in another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.localisation.graph import renamed
from asterism.models.foreign.onnx_files import read_onnx


@dataclass(frozen=True)
class TurnedTensor:
    """An input or output of a copy, which has its axes in another order than the model's.

    Attributes:
        name: in the copy.
        order: for each axis of the copy's tensor, the axis of the model's.
    """

    name: str
    order: Sequence[int]

    @property
    def backwards(self) -> list[int]:
        """For each axis of the model's tensor, the axis of the copy's."""
        return [self.order.index(axis) for axis in range(len(self.order))]


def with_turned_axes(
    path: Path,
    inputs: Mapping[str, TurnedTensor],
    outputs: Mapping[str, TurnedTensor],
    target: Path,
) -> Path:
    """Write a copy of an ONNX model that takes and gives some tensors with their axes turned.

    Args:
        path: the model.
        inputs: by their names in the model.
        outputs: by their names in the model.
        target: where the copy goes.

    Returns:
        ``target``.
    """
    model = read_onnx(path)
    graph = model.graph
    turned = {**inputs, **outputs}
    taken = {name for node in graph.node for name in (*node.input, *node.output)}
    # What the copy takes and gives has names that no tensor within it has.
    inner = {one.name: _unused(one.name, taken) for one in turned.values() if one.name in taken}
    nodes = [renamed(node, inner) for node in graph.node]
    for node in nodes:
        node.output[:] = [inner.get(name, name) for name in node.output]
    del graph.node[:]
    for name, one in inputs.items():
        _turn(graph, one.name, inner.get(name, name), one.backwards)
    graph.node.extend(nodes)
    for name, one in outputs.items():
        _turn(graph, inner.get(name, name), one.name, one.order)
    for value in (*graph.input, *graph.output):
        if value.name in turned:
            one = turned[value.name]
            value.name = one.name
            _reorder(value.type.tensor_type.shape.dim, one.order)
    target.write_bytes(model.SerializeToString(deterministic=True))
    return target


def _turn(graph: Any, given: str, made: str, order: Sequence[int]) -> None:
    """Add a node that turns one tensor into another."""
    node = graph.node.add(
        op_type="Transpose", name=f"layout of {made}", input=[given], output=[made]
    )
    node.attribute.add(name="perm", type="INTS", ints=order)


def _unused(name: str, taken: set[str]) -> str:
    """A name that no tensor has yet."""
    while name in taken:
        name += "_"
    return name


def _reorder(sizes: Any, order: Sequence[int]) -> None:
    turned = [sizes[axis].SerializeToString() for axis in order]
    for size, content in zip(sizes, turned, strict=True):
        size.ParseFromString(content)
