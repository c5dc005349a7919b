"""Models inside models, opened: one graph of layers, each of which can be named."""

from __future__ import annotations

from typing import Any

import keras


def flattened(model: keras.Model) -> keras.Model:
    """The same function without models inside it.

    A layer ``conv`` of a model ``features`` inside becomes the layer ``features.conv``. A model
    without models inside is returned as it is, and so is one that is no graph of layers.

    Args:
        model: functional or sequential, as are the models inside.
    """
    if not any(isinstance(layer, keras.Model) for layer in model.layers) or not _is_graph(model):
        return model
    inputs = [keras.Input(batch_shape=t.shape, dtype=t.dtype) for t in model.inputs]
    outputs = _Opening().apply(model, inputs, "")
    return keras.Model(inputs, outputs, name=model.name)


def graph_of(model: keras.Model) -> Any:
    """The graph of operations; a sequential model keeps it inside."""
    return getattr(model, "_functional", None) or model


class _Opening:
    """Applies copies of layers; a layer that is used twice has one copy."""

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}

    def apply(self, model: keras.Model, inputs: list[Any], prefix: str) -> list[Any]:
        """A model's outputs for other inputs; names of its layers are put behind ``prefix``."""
        graph = graph_of(model)
        values = {id(t): value for t, value in zip(graph.inputs, inputs, strict=True)}
        for depth in sorted(graph._nodes_by_depth, reverse=True):
            for node in graph._nodes_by_depth[depth]:
                if node.is_input:
                    continue
                found = self._call(node, values, prefix)
                values |= {id(t): v for t, v in zip(node.outputs, found, strict=True)}
        return [values[id(t)] for t in graph.outputs]

    def _call(self, node: Any, values: dict[int, Any], prefix: str) -> list[Any]:
        operation = node.operation
        if isinstance(operation, keras.Model) and _is_graph(operation):
            given = [values[id(t)] for t in node.arguments.keras_tensors]
            return self.apply(operation, given, f"{prefix}{operation.name}.")
        arguments, options = node.arguments.fill_in(values)
        copy = self._copies.get(id(operation))
        if copy is None:
            config = operation.get_config() | {"name": f"{prefix}{operation.name}"}
            copy = self._copies[id(operation)] = type(operation).from_config(config)
        found = keras.tree.flatten(copy(*arguments, **options))
        if isinstance(operation, keras.Layer):
            copy.set_weights(operation.get_weights())
        return list(found)


def _is_graph(model: keras.Model) -> bool:
    return hasattr(graph_of(model), "_nodes_by_depth")
