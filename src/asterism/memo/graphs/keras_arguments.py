"""What Keras' constructors are called with for a graph's nodes; nothing here needs Keras."""

from __future__ import annotations

from typing import Any

from asterism.memo.graphs.graph import Graph, Node
from asterism.memo.universe.spec import universe
from asterism.memo.universe.tensors import Config

#: Layers that Keras calls with query and value as two arguments, not as a list.
TWO_ARGUMENTS = frozenset({"MultiHeadAttention", "GroupQueryAttention"})


def layer_name(identity: int, node: Node) -> str:
    """Name of a node's layer in the Keras model."""
    return f"n{identity}_{node.type.lower()}"


def arguments(graph: Graph, node: Node) -> Config:
    """What Keras' constructor of a node's layer takes."""
    inputs = [graph.tensors[i] for i in node.inputs]
    cleaned: Config = _cleaned(universe()[node.type].keras_config(node.config, inputs))
    return cleaned


def _cleaned(value: Any) -> Any:
    """The option ``"none"`` as Python's None, at every depth."""
    if isinstance(value, dict):
        return {k: _cleaned(v) for k, v in value.items()}
    return None if value == "none" else value
