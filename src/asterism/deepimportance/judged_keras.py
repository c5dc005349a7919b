"""Models of Keras as judged models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
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
    are_pictures,
)
from asterism.deepimportance.keras_layers import build_network
from asterism.deepimportance.relevance import (
    find_node_of_layer,
    find_relevance_carriers,
    propagate_relevance,
    require_path,
)
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
        UserError: a layer that relevance cannot pass stands behind this one; no layer of that
            name; or one at or behind the scores, where relevance starts.
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
        if layer is None:
            require_path(self.network, 0, "the input")
        self._dtype = tf.as_dtype(dtype)
        shape = (None, *model.inputs[0].shape[1:])
        signature = [tf.TensorSpec(shape, self._dtype), tf.TensorSpec((None,), tf.int64)]
        self._run: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = tf.function(
            self._graph, input_signature=signature, autograph=False
        )

    def __call__(self, inputs: Array, outputs: Array | None = None) -> tuple[Array, Array]:
        """Scores and relevance of a batch.

        Args:
            inputs: ``(N, …)``, preprocessed as the model wants them; tokens too may be floats.
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
        seed = scores * tf.one_hot(chosen, tf.shape(scores)[1], dtype=scores.dtype)
        seed = tf.reshape(seed, tf.shape(values[self.network.start]))
        return scores, propagate_relevance(
            self.network, self._composite, values, seed, self._target
        )


def reduce_positions(values: Any, reduce: Callable[..., Any] = tf.reduce_mean) -> Any:
    """``(N, neurons)`` of ``(N, …, neurons)``: feature maps reduced over their places."""
    places = list(range(1, len(values.shape) - 1))
    return reduce(values, axis=places) if places else values


class JudgedKeras(JudgedModel):
    """A model of Keras.

    Args:
        model: functional or sequential, one input and one output. Layers of models inside it are
            named ``inner.layer``.
        preprocessing: from grey levels to its input.
        example: some inputs ``(n, …)`` as the model takes them, real numbers or tokens; or
            pictures, uint8 ``(n, H, W, C)``, which None stands for.
    """

    def __init__(
        self,
        model: keras.Model,
        preprocessing: PreprocessingParams,
        example: NDArray[Any] | None = None,
    ) -> None:
        self._whole = model
        self._example = None if example is None or are_pictures(example) else example
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
        reached = [layer for layer in self.model.layers if layer.name in self._reached]
        inner = [layer for layer in reached if layer not in scores]
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
            *hidden, output = compiled(self._given(items))
            return [values.numpy() for values in hidden], output.numpy()

        return recorded

    def explainer(self, layer: str, composite: Composite) -> Explainer:
        """See :meth:`.JudgedModel.explainer`."""
        propagate = self._propagator(layer, composite)
        return lambda items: propagate.per_neuron(self._given(items))

    def pixel_explainer(self, composite: Composite) -> PixelExplainer:
        """See :meth:`.JudgedModel.pixel_explainer`."""
        propagate = self._propagator(None, composite)

        def explained(items: NDArray[np.uint8], labels: NDArray[np.int64]) -> Floats:
            _, found = propagate(self._given(items), labels)
            summed: Floats = found.sum(axis=-1)
            return summed

        return explained

    def on_pixels(self) -> PixelNetwork:
        """See :meth:`.JudgedModel.on_pixels`."""
        if self._example is not None:
            raise UserError(
                f"{self.name} cannot be attacked: only networks of pictures, uint8 (N, H, W, C), "
                "can be"
            )
        return KerasNetwork(cut_softmax(self._whole), self.preprocessing)

    @cached_property
    def _reached(self) -> set[str]:
        """Layers that relevance reaches if it can pass all others: not those of a gate."""
        network = build_network(self.model)
        carriers = find_relevance_carriers(network)
        return {name for name, place in network.outputs_of.items() if place in carriers}

    def _given(self, items: NDArray[Any]) -> Floats:
        """What the model takes; an integer up to 2^24, as a token is, is a float32 too."""
        if self._example is None:
            return model_input(items, self.preprocessing)
        return items.astype(np.float32, copy=False)

    def _propagator(self, layer: str | None, composite: Composite) -> Propagator:
        """Relevance at a layer, None: at the input."""
        low, high = self._ends()
        return Propagator(self.model, composite, layer, low=low, high=high)

    def _ends(self) -> tuple[Any, Any]:
        """The smallest and the largest value that an input can take."""
        if self._example is not None:
            return float(self._example.min()), float(self._example.max())
        channels = int(self.model.inputs[0].shape[-1])
        ends = np.stack([np.zeros((1, 1, channels)), np.full((1, 1, channels), 255.0)])
        low, high = self.preprocessing.apply(ends.astype(np.uint8)).astype(np.float64)
        return low[0, 0], high[0, 0]


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
