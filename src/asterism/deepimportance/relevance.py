"""Layer-wise relevance propagation through a Keras model, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.criteria.tracing import over_places
from asterism.deepimportance.composite import Composite
from asterism.deepimportance.keras_layers import network_of
from asterism.deepimportance.network import Elementwise, Linear, Network, Routing, Sum, Tensor
from asterism.deepimportance.rules import STABILISER, RelevanceStep, stabilise

Array = NDArray[Any]


class Propagator:
    """Relevance of the values of one layer (or of the input) for a decision of a Keras model.

    The forward pass, the rules and the backward pass are compiled into one graph.

    Args:
        model: functional or sequential, one input and one output.
        composite: which rule applies to which operation.
        layer: name of the Keras layer at whose output relevance is wanted; None for the input.
        low: smallest value of the model's input (after preprocessing); one, or one a channel.
        high: largest such value.
        dtype: of the computation; ``float64`` for checks.

    Raises:
        UserError: a layer that relevance cannot pass; no layer of that name; or one at or behind
            the scores, where relevance starts.
    """

    def __init__(
        self,
        model: keras.Model,
        composite: Composite,
        layer: str | None = None,
        *,
        low: float | Array = 0.0,
        high: float | Array = 1.0,
        dtype: str = "float32",
    ) -> None:
        self.network = network_of(model, low, high)
        self._composite = composite
        self._target = 0 if layer is None else _place(self.network, layer)
        self._dtype = tf.as_dtype(dtype)
        shape = (None, *model.inputs[0].shape[1:])
        signature = [tf.TensorSpec(shape, self._dtype), tf.TensorSpec((None,), tf.int64)]
        self._run: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = tf.function(
            self._graph, input_signature=signature, autograph=False
        )

    def __call__(self, inputs: Array, outputs: Array | None = None) -> tuple[Array, Array]:
        """Scores and relevance of a batch.

        Args:
            inputs: ``(N, …)``, preprocessed as the model wants them.
            outputs: int ``(N,)``, the output whose score is explained; each input's winner if None.

        Returns:
            The scores before softmax, ``(N, K)``, and the relevance of the layer's values.
        """
        scores, relevance = self.tensors(inputs, outputs)
        return scores.numpy(), relevance.numpy()

    def per_neuron(self, inputs: Array, outputs: Array | None = None) -> tuple[Array, Array]:
        """As calling it, with feature maps summed over their places: relevance ``(N, neurons)``."""
        scores, relevance = self.tensors(inputs, outputs)
        return scores.numpy(), over_places(relevance, tf.reduce_sum).numpy()

    def tensors(self, inputs: Array, outputs: Array | None = None) -> tuple[Tensor, Tensor]:
        """As calling it, without leaving TensorFlow."""
        winner = np.full(len(inputs), -1) if outputs is None else outputs
        return self._run(tf.cast(inputs, self._dtype), tf.cast(winner, tf.int64))

    def _graph(self, x: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor]:
        values = self.network.values(x)
        scores = values[self.network.start]
        scores = tf.reshape(scores, (tf.shape(x)[0], -1))
        chosen = tf.where(outputs < 0, tf.argmax(scores, axis=1), outputs)
        seed = scores * tf.one_hot(chosen, tf.shape(scores)[1], dtype=x.dtype)
        seed = tf.reshape(seed, tf.shape(values[self.network.start]))
        return scores, propagate(self.network, self._composite, values, seed, self._target)


def _place(network: Network, layer: str) -> int:
    """The node of a layer's output."""
    inner = [name for name, place in network.outputs_of.items() if place < network.start]
    if layer not in inner:
        raise UserError(
            f"relevance has no way to the layer {layer!r}: it starts at the scores and goes back "
            f"to the layers before them ({', '.join(inner)})"
        )
    return network.outputs_of[layer]


def propagate(
    network: Network, composite: Composite, values: list[Tensor], seed: Tensor, target: int
) -> Tensor:
    """Relevance at the node ``target``, given that of the node where relevance starts.

    Args:
        network: the operations.
        composite: rules.
        values: of all nodes, as :meth:`Network.values` gives them.
        seed: relevance of ``network.start``, of its shape.
        target: index of the node whose relevance is wanted.
    """
    relevance: dict[int, Tensor] = {network.start: seed}
    first = _sees_input(network)
    for index in range(network.start, target, -1):
        arrived = relevance.pop(index, None)
        if arrived is None:  # only nodes after the start read it
            continue
        node = network.nodes[index]
        inputs = [values[i] for i in node.inputs]
        match node.operation:
            case Linear() as linear:
                at = RelevanceStep(
                    linear,
                    inputs[0],
                    arrived,
                    network.nodes[node.inputs[0]].nonnegative,
                    _box(network, node.inputs[0], values) if first[index] else None,
                )
                shares = [composite.rule(linear.kind, first=first[index]).share(at)]
            case Elementwise():
                shares = [arrived]
            case Routing() as routing:
                shares = _transposed(routing, inputs, arrived)
            case Sum() as addition:
                shares = _proportional(addition, inputs, values[index], arrived)
            case _:
                raise AssertionError("only the input has no operation")
        for i, part in zip(node.inputs, shares, strict=True):
            relevance[i] = relevance[i] + part if i in relevance else part
    if target not in relevance:
        return tf.zeros_like(values[target])
    return relevance[target]


def _sees_input(network: Network) -> list[bool]:
    """Which nodes have no dense layer or convolution between the input and themselves."""
    clean = [True] * len(network.nodes)  # of a node's own value: no weights up to it
    first = [True] * len(network.nodes)
    for index, node in enumerate(network.nodes[1:], start=1):
        first[index] = all(clean[i] for i in node.inputs)
        weighs = isinstance(node.operation, Linear) and node.operation.kind != "pooling"
        clean[index] = first[index] and not weighs
    return first


def _box(network: Network, index: int, values: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Smallest and largest value that a node before any weights can take, ``(1, …)``."""
    shape = (1, *values[0].shape[1:])
    ends = []
    for bound in (network.low, network.high):
        known: dict[int, Tensor] = {0: tf.broadcast_to(tf.constant(bound, values[0].dtype), shape)}
        for i in range(1, index + 1):
            node = network.nodes[i]
            if node.operation is not None and all(j in known for j in node.inputs):
                known[i] = node.operation.forward(*(known[j] for j in node.inputs))
        ends.append(known[index])
    return tf.minimum(*ends), tf.maximum(*ends)


def _transposed(routing: Routing, inputs: list[Tensor], relevance: Tensor) -> list[Tensor]:
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        output = routing.forward(*inputs)
    shares: list[Tensor] = tape.gradient(output, inputs, relevance)
    return shares


def _proportional(
    addition: Sum, inputs: list[Tensor], total: Tensor, relevance: Tensor
) -> list[Tensor]:
    per_unit = tf.math.divide_no_nan(relevance, stabilise(total, STABILISER))
    return [w * x * per_unit for w, x in zip(addition.weights, inputs, strict=True)]
