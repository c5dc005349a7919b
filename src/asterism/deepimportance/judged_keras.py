"""Models of Keras as judged models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from asterism.attacks.keras_network import KerasNetwork
from asterism.attacks.methods import PixelNetwork
from asterism.core.messages.errors import UserError
from asterism.deepimportance.composites import Composite
from asterism.deepimportance.judged_model import (
    Explainer,
    Floats,
    JudgedModel,
    PixelExplainer,
    Recorder,
)
from asterism.deepimportance.keras_layers import build_network
from asterism.deepimportance.relevance import find_node_of_layer, propagate_relevance
from asterism.deepimportance.tensor_ops import Tensor
from asterism.models.images_and_scores import PreprocessingParams, model_input
from asterism.models.keras_models.layers import (
    ClassifierHead,
    cut_softmax,
    flatten_model,
    require_images_of,
)

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
        dtype: the dtype of the computation; ``float64`` for checks.

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
        self.network = build_network(model, low, high)
        self._composite = composite
        self._target = 0 if layer is None else find_node_of_layer(self.network, layer)
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

    def per_neuron(self, inputs: Array) -> tuple[Array, Array]:
        """The relevance ``(N, neurons)``: feature maps are summed over their places."""
        scores, relevance = self.tensors(inputs)
        return scores.numpy(), reduce_positions(relevance, tf.reduce_sum).numpy()

    def tensors(self, inputs: Array, outputs: Array | None = None) -> tuple[Tensor, Tensor]:
        """The relevance as tensors of TensorFlow."""
        winner = np.full(len(inputs), -1) if outputs is None else outputs
        return self._run(tf.cast(inputs, self._dtype), tf.cast(winner, tf.int64))

    def _graph(self, x: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor]:
        values = self.network.values(x)
        scores = values[self.network.start]
        scores = tf.reshape(scores, (tf.shape(x)[0], -1))
        chosen = tf.where(outputs < 0, tf.argmax(scores, axis=1), outputs)
        seed = scores * tf.one_hot(chosen, tf.shape(scores)[1], dtype=x.dtype)
        seed = tf.reshape(seed, tf.shape(values[self.network.start]))
        return scores, propagate_relevance(
            self.network, self._composite, values, seed, self._target
        )


def reduce_positions(values: Any, reduce: Callable[..., Any] = tf.reduce_mean) -> Any:
    """``(N, neurons)`` of ``(N, …, neurons)``: feature maps reduced over their places."""
    places = list(range(1, len(values.shape) - 1))
    return reduce(values, axis=places) if places else values


class JudgedKeras(JudgedModel):
    """A model of Keras that takes pictures.

    Args:
        model: functional or sequential, one input and one output. Layers of models inside it are
            named ``inner.layer``.
        preprocessing: from grey levels to its input.
    """

    def __init__(self, model: keras.Model, preprocessing: PreprocessingParams) -> None:
        self._whole = model
        self.model, self.preprocessing = flatten_model(model), preprocessing
        self.name = model.name
        self.layers = [layer.name for layer in self.model.layers]
        self.outputs = int(self.model.outputs[0].shape[-1])

    def require(self, items: NDArray[Any]) -> None:
        """See :meth:`.JudgedModel.require`."""
        require_images_of(self._whole, items)

    def find_layer(self, wanted: str | int | None) -> str:
        """See :meth:`.JudgedModel.find_layer`; the input is no layer to look at."""
        found = super().find_layer(wanted)
        if isinstance(self.model.get_layer(found), keras.layers.InputLayer):
            raise UserError(f"the layer {found!r} of {self.name!r} is its input {self.listed}")
        return found

    def hidden_layers(self) -> list[str]:
        """See :meth:`.JudgedModel.hidden_layers`."""
        scores = _score_layers(self.model)
        inner = [layer for layer in self.model.layers if layer not in scores]
        active = [layer.name for layer in inner if _activates(layer)]
        found = active or [layer.name for layer in inner if layer.weights]
        if not found:
            raise UserError(f"the model {self.name!r} has no hidden layer")
        return found

    def shape(self, layer: str) -> tuple[int | None, ...]:
        """See :meth:`.JudgedModel.shape`."""
        return tuple(self.model.get_layer(layer).output.shape)

    def recorder(self, layers: Sequence[str]) -> Recorder:
        """See :meth:`.JudgedModel.recorder`."""
        wanted = [self.model.get_layer(name).output for name in layers]
        graph = keras.Model(self.model.inputs, wanted + self.model.outputs)

        def record(x: Any) -> list[Any]:
            *hidden, output = graph(x, training=False)
            return [*(reduce_positions(h) for h in hidden), output]

        shape = (None, *self.model.inputs[0].shape[1:])
        compiled = tf.function(record, [tf.TensorSpec(shape, tf.float32)], autograph=False)

        def recorded(items: NDArray[Any]) -> tuple[list[Floats], Floats]:
            *hidden, output = compiled(model_input(items, self.preprocessing))
            return [values.numpy() for values in hidden], output.numpy()

        return recorded

    def explainer(self, layer: str, composite: Composite) -> Explainer:
        """See :meth:`.JudgedModel.explainer`."""
        propagate = self._propagator(layer, composite)
        return lambda items: propagate.per_neuron(model_input(items, self.preprocessing))

    def pixel_explainer(self, composite: Composite) -> PixelExplainer:
        """See :meth:`.JudgedModel.pixel_explainer`."""
        propagate = self._propagator(None, composite)

        def explained(items: NDArray[np.uint8], labels: NDArray[np.int64]) -> Floats:
            _, found = propagate(model_input(items, self.preprocessing), labels)
            summed: Floats = found.sum(axis=-1)
            return summed

        return explained

    def on_pixels(self) -> PixelNetwork:
        """See :meth:`.JudgedModel.on_pixels`."""
        return KerasNetwork(cut_softmax(self._whole), self.preprocessing)

    def _propagator(self, layer: str | None, composite: Composite) -> Propagator:
        """Relevance at a layer, None: at the input."""
        channels = int(self.model.inputs[0].shape[-1])
        ends = np.stack([np.zeros((1, 1, channels)), np.full((1, 1, channels), 255.0)])
        low, high = self.preprocessing.apply(ends.astype(np.uint8)).astype(np.float64)
        return Propagator(self.model, composite, layer, low=low[0, 0], high=high[0, 0])


def _score_layers(model: keras.Model) -> list[Any]:
    """The output's layer, or its softmax's and those behind it; before one of its own that too."""
    head = ClassifierHead.of(model)
    if head.softmax is None:
        return [model.layers[-1]]
    before = [] if head.weighs else [head.before._keras_history.operation]
    return [*before, head.softmax, *head.behind]


def _activates(layer: Any) -> bool:
    kinds = (keras.layers.ReLU, keras.layers.LeakyReLU, keras.layers.ELU, keras.layers.PReLU)
    activation = getattr(layer, "activation", None)
    silent = (None, keras.activations.linear, keras.activations.softmax)
    return isinstance(layer, kinds) or activation not in silent
