"""The activations of a Keras model's neurons, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from asterism.core.messages.console import progress
from asterism.criteria.criterion import Activations
from asterism.criteria.layers import is_classifier
from asterism.models.keras_models.preprocessing import PreprocessingParams

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
            return [*(over_places(h) for h in hidden), output]

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


def over_places(values: Any, reduce: Callable[..., Any] = tf.reduce_mean) -> Any:
    """``(N, neurons)`` of ``(N, …, neurons)``: feature maps reduced over their places."""
    places = list(range(1, len(values.shape) - 1))
    return reduce(values, axis=places) if places else values
