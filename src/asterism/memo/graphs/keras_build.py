"""A graph as a Keras model, on whichever backend this process runs.

What constructors are called with needs no Keras, which is imported where a model is built.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from asterism.memo.graphs.graph import INPUT, Graph, Node
from asterism.memo.graphs.weights import Stored, layer_weights, variables_of
from asterism.memo.universe.layers import universe
from asterism.memo.universe.tensors import Config

if TYPE_CHECKING:
    import keras

#: Layers that Keras calls with query and value as two arguments, not as a list.
TWO_ARGUMENTS = frozenset({"MultiHeadAttention", "GroupQueryAttention"})


def layer_name(identity: int, node: Node) -> str:
    """Name of a node's layer in the Keras model."""
    return f"n{identity}_{node.type.lower()}"


def constructor_arguments(graph: Graph, node: Node) -> Config:
    """What Keras' constructor of a node's layer takes."""
    inputs = [graph.tensors[i] for i in node.inputs]
    cleaned: Config = _cleaned(universe()[node.type].keras_config(node.config, inputs))
    return cleaned


def _cleaned(value: Any) -> Any:
    """The option ``"none"`` as Python's None, at every depth."""
    if isinstance(value, dict):
        return {k: _cleaned(v) for k, v in value.items()}
    return None if value == "none" else value


def build_model(
    graph: Graph,
    stored: Stored | None = None,
    *,
    dtype: str | None = None,
    zero_initializers: bool = False,
    outputs: Sequence[int] | None = None,
    changed: Config | None = None,
) -> keras.Model:
    """The Keras model of a graph, with its weights.

    Args:
        graph: what to build.
        stored: arrays of the layers that were read from a model.
        dtype: the floating dtype of every layer, in place of the graph's own.
        zero_initializers: build with zeros, where a backend compiles every initializer anew;
            the weights are set afterwards in any case.
        outputs: nodes to put out, in place of the graph's own outputs.
        changed: parameters of all layers whose values differ from the graph's; they may be invalid.

    Raises:
        Exception: whatever Keras raises when it rejects the graph.
    """
    import keras

    tensors: dict[int, Any] = {}
    layers: dict[int, Any] = {}
    for identity, node in graph.nodes.items():
        if node.type == INPUT:
            kind = node.config["dtype"]
            tensors[identity] = keras.Input(
                tuple(node.config["shape"]),
                dtype=kind if dtype is None or kind == "int32" else dtype,
                name=f"n{identity}_input",
            )
            continue
        config = {
            **constructor_arguments(graph, node),
            **(changed or {}),
            "name": layer_name(identity, node),
        }
        if dtype is not None:
            config = _throughout(config, lambda layer: {**layer, "dtype": dtype})
        if zero_initializers:
            config = _throughout(config, _with_zeros)
        layer = getattr(keras.layers, node.type).from_config(config)
        sources = [tensors[i] for i in node.inputs]
        if node.type in TWO_ARGUMENTS:
            tensors[identity] = layer(*sources)
        else:
            tensors[identity] = layer(sources if len(sources) > 1 else sources[0])
        layers[identity] = layer
    for identity, layer in layers.items():
        if layer.weights:
            variables = variables_of(layer)
            layer.set_weights(layer_weights(graph.nodes[identity], variables, stored or {}))
    chosen = graph.outputs if outputs is None else outputs
    results = [tensors[i] for i in chosen]
    given = [tensors[i] for i in graph.inputs]
    return keras.Model(
        given[0] if len(given) == 1 else given, results[0] if len(results) == 1 else results
    )


def needed_arguments(kind: str, config: Config) -> Config:
    """The arguments that a layer's constructor has to be told: those not at Keras' own default.

    Keras has many ways of writing one value. So an argument is left out where the layer without
    it has the same configuration.
    """
    import keras

    def made(given: Config) -> Config:
        named = _throughout(given, lambda layer: {**layer, "name": "layer"})
        found: Config = getattr(keras.layers, kind).from_config(named).get_config()
        return found

    whole, needed = made(config), dict(config)
    for argument in (a for a in config if a in whole):
        fewer = {k: v for k, v in needed.items() if k != argument}
        with suppress(Exception):  # Keras makes no layer without it
            if made(fewer) == whole:
                needed = fewer
    return needed


def _throughout(config: Config, change: Callable[[Config], Config]) -> Config:
    """A layer's arguments changed, and those of the layer that it wraps."""
    changed = change(config)
    if isinstance(changed.get("layer"), dict):
        inner = changed["layer"]
        changed["layer"] = {**inner, "config": _throughout(inner["config"], change)}
    return changed


def _with_zeros(config: Config) -> Config:
    """Every initializer replaced by zeros."""
    return {k: _zeros() if k.endswith("_initializer") else v for k, v in config.items()}


@cache
def _zeros() -> Any:
    """An initializer of zeros by NumPy. JAX compiles its own zeros anew for every shape."""
    import keras

    @keras.saving.register_keras_serializable("asterism")
    class Zeros(keras.initializers.Initializer):  # type: ignore[misc]
        def __call__(self, shape: tuple[int, ...], dtype: str | None = None) -> Any:
            return np.zeros(shape, keras.backend.standardize_dtype(dtype))

    return Zeros()
