"""Models of Keras as judged models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from asterism.attacks.attack import PixelNetwork
from asterism.attacks.keras_network import KerasNetwork
from asterism.core.messages.errors import UserError
from asterism.deepimportance.composite import Composite
from asterism.deepimportance.judged_model import (
    Explainer,
    Floats,
    JudgedModel,
    PixelExplainer,
    Recorder,
)
from asterism.deepimportance.keras_relevance import Propagator, over_places
from asterism.models.keras_models.layers import (
    ClassifierHead,
    flatten_model,
    require_images_of,
    up_to_logits,
)
from asterism.models.keras_models.preprocessing import PreprocessingParams, model_input


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
            return [*(over_places(h) for h in hidden), output]

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
        return KerasNetwork(up_to_logits(self._whole), self.preprocessing)

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
