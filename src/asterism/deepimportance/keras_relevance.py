"""Layer-wise relevance propagation through a Keras model, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from asterism.deepimportance.composite import Composite
from asterism.deepimportance.keras_layers import network_of
from asterism.deepimportance.relevance import place_of, propagate
from asterism.deepimportance.tensor_ops import Tensor

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
        self._target = 0 if layer is None else place_of(self.network, layer)
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


def over_places(values: Any, reduce: Callable[..., Any] = tf.reduce_mean) -> Any:
    """``(N, neurons)`` of ``(N, …, neurons)``: feature maps reduced over their places."""
    places = list(range(1, len(values.shape) - 1))
    return reduce(values, axis=places) if places else values
