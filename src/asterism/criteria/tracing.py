"""The activations of a Keras model's neurons, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from asterism.core.console import progress
from asterism.core.errors import UserError
from asterism.criteria.criterion import Activations
from asterism.models.logits import Ending
from asterism.models.preprocessing import PreprocessingParams

BATCH = 512


class Tracer:
    """Runs images through a model and records the neurons of some layers.

    Args:
        model: functional or sequential, one input and one output.
        preprocessing: from grey levels to the model's input.
        subject: the layer under study.
        layers: those whose neurons count for the criteria.
    """

    def __init__(
        self,
        model: keras.Model,
        preprocessing: PreprocessingParams,
        subject: str,
        layers: list[str],
    ) -> None:
        names = [layer.name for layer in model.layers]
        wanted = sorted({subject, *layers}, key=names.index)
        graph = keras.Model(
            model.inputs, [model.get_layer(n).output for n in wanted] + model.outputs
        )

        def record(x: Any) -> list[Any]:
            *hidden, output = graph(x, training=False)
            return [*(_over_places(h) for h in hidden), output]

        shape = (None, *model.inputs[0].shape[1:])
        self._record = tf.function(record, [tf.TensorSpec(shape, tf.float32)], autograph=False)
        self._names = wanted
        self._counted = layers
        self._subject = subject
        self._preprocessing = preprocessing
        self._classifies = is_classifier(model)

    def __call__(self, images: NDArray[Any]) -> Activations:
        """Activations of one batch.

        Args:
            images: uint8 ``(N, H, W, C)``, or float32 pixels in [0, 1].
        """
        *hidden, output = (
            t.numpy() for t in self._record(model_input(images, self._preprocessing))
        )
        decisions = output.argmax(axis=1).astype(np.int64) if self._classifies else None
        found = dict(zip(self._names, hidden, strict=True))
        counted = {name: values for name, values in found.items() if name in self._counted}
        return Activations(counted, found[self._subject], decisions)

    def stream(self, images: NDArray[Any], label: str | None = None) -> Iterator[Activations]:
        """Activations of many images, batch by batch, under a progress bar if it has a label."""
        starts: Any = range(0, len(images), BATCH)
        if label is not None:
            starts = progress(starts, label=label, unit="batch")
        for start in starts:
            yield self(images[start : start + BATCH])


def model_input(images: NDArray[Any], preprocessing: PreprocessingParams) -> NDArray[np.float32]:
    """What a model takes, of uint8 images or of pixels in [0, 1]."""
    levels: Any = images if images.dtype == np.uint8 else images * np.float32(255)
    return preprocessing.apply(levels)


def is_classifier(model: keras.Model) -> bool:
    """Whether the model has a score for each of several classes."""
    return int(model.outputs[0].shape[-1]) > 1


def find_layer(model: keras.Model, wanted: str | int | None) -> str:
    """Name of the subject layer.

    Args:
        model: the model under test.
        wanted: name, index in ``model.layers`` (negative from the end), or None for the last
            hidden layer with an activation.

    Raises:
        UserError: no such layer, or one that only takes the model's input; the message lists the
            layers.
    """
    if wanted is None:
        return hidden_layers(model)[-1]
    names = [layer.name for layer in model.layers]
    listed = ", ".join(f"{i} {name}" for i, name in enumerate(names))
    known = f"(its layers: {listed})"
    if isinstance(wanted, int) and -len(names) <= wanted < len(names):
        wanted = names[wanted]
    if wanted not in names:
        raise UserError(f"the model {model.name!r} has no layer {wanted!r} {known}")
    if isinstance(model.get_layer(wanted), keras.layers.InputLayer):
        raise UserError(f"the layer {wanted!r} of {model.name!r} is its input {known}")
    return str(wanted)


def hidden_layers(model: keras.Model) -> list[str]:
    """Names of the layers whose neurons decide: with an activation, and not the output's.

    Where no layer has one, those with weights.

    Raises:
        UserError: there is none.
    """
    scores = _score_layers(model)
    inner = [layer for layer in model.layers if layer not in scores]
    active = [layer.name for layer in inner if _activates(layer)]
    found = active or [layer.name for layer in inner if layer.weights]
    if not found:
        raise UserError(f"the model {model.name!r} has no hidden layer")
    return found


def _score_layers(model: keras.Model) -> list[Any]:
    """The output's layer, or its softmax's and those behind it; before one of its own that too."""
    ending = Ending.of(model)
    if ending.softmax is None:
        return [model.layers[-1]]
    before = [] if ending.weighs else [ending.before._keras_history.operation]
    return [*before, ending.softmax, *ending.behind]


def _activates(layer: Any) -> bool:
    kinds = (keras.layers.ReLU, keras.layers.LeakyReLU, keras.layers.ELU, keras.layers.PReLU)
    activation = getattr(layer, "activation", None)
    silent = (None, keras.activations.linear, keras.activations.softmax)
    return isinstance(layer, kinds) or activation not in silent


def _over_places(values: Any) -> Any:
    places = list(range(1, len(values.shape) - 1))
    return tf.reduce_mean(values, axis=places) if places else values
