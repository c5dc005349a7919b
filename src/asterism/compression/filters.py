"""Removing filters of convolutions, so that a network of fewer filters remains.

A removed filter takes along everything that depends on its channel alone: its bias, its place in a
batch normalisation, and the weights by which the next convolutions and dense layers listen to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import keras

Channels = NDArray[np.int64]


def removable(model: keras.Model) -> list[keras.layers.Layer]:
    """The convolutions whose filters can go.

    Not so where a channel ends in anything but a convolution or a dense layer: in a residual
    addition, whose other summand has that channel too, or in an output.
    """
    import keras

    convolutions = [layer for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
    return [layer for layer in convolutions if layer.groups == 1 and _is_absorbed(layer, model)]


def without_filters(model: keras.Model, kept: Mapping[str, Channels]) -> keras.Model:
    """The network with only some filters left in some of its :func:`removable` convolutions.

    Args:
        model: left as it is.
        kept: by the convolution's name the numbers of the filters that stay, ascending.
    """
    import keras

    def smaller(layer: keras.layers.Layer) -> keras.layers.Layer:
        config = layer.get_config()
        if layer.name in kept:
            config["filters"] = len(kept[layer.name])
        return type(layer).from_config(config)

    cut = keras.models.clone_model(model, clone_function=smaller)
    # A sequential model does not list its input among its layers.
    channels = {t._keras_history.operation.name: np.arange(t.shape[-1]) for t in model.inputs}
    for layer, smaller_layer in zip(model.layers, cut.layers, strict=True):
        sources = _sources(layer)
        # Where several tensors meet, all of their channels are there.
        given = channels[sources[0].name] if len(sources) == 1 else None
        smaller_layer.set_weights(_cut_weights(layer, given, kept.get(layer.name)))
        channels[layer.name] = _channels_after(layer, given, kept.get(layer.name))
    return cut


def _cut_weights(
    layer: keras.layers.Layer, given: Channels | None, kept: Channels | None
) -> list[NDArray[Any]]:
    """A layer's weights for the input channels that are left, and for the filters it keeps."""
    import keras

    weights: list[NDArray[Any]] = layer.get_weights()
    if given is None or not weights:
        return weights
    if isinstance(layer, keras.layers.Conv2D):
        filters = np.arange(layer.filters) if kept is None else kept
        inputs = given if layer.groups == 1 else np.arange(weights[0].shape[2])
        return [weights[0][:, :, inputs][..., filters], *(bias[filters] for bias in weights[1:])]
    if isinstance(layer, keras.layers.Dense):
        return [weights[0][given], *weights[1:]]
    if isinstance(layer, keras.layers.BatchNormalization):
        return [values[given] for values in weights]
    return weights


def _channels_after(
    layer: keras.layers.Layer, given: Channels | None, kept: Channels | None
) -> Channels:
    """Which of a layer's output channels are left."""
    import keras

    if kept is not None:
        return kept
    if given is not None and isinstance(layer, keras.layers.Flatten):
        _, *places, channels = layer.input.shape  # no places where they are pooled already
        return np.ravel(np.arange(math.prod(places))[:, np.newaxis] * channels + given)
    if given is not None and isinstance(layer, _by_channel()):
        return given
    return np.arange(layer.output.shape[-1])


def _by_channel() -> tuple[type, ...]:
    """Layers that do to a channel what does not depend on the others."""
    from keras import layers

    return (
        layers.BatchNormalization,
        layers.ReLU,
        layers.LeakyReLU,
        layers.Activation,
        layers.MaxPooling2D,
        layers.AveragePooling2D,
        layers.GlobalMaxPooling2D,
        layers.GlobalAveragePooling2D,
        layers.ZeroPadding2D,
        layers.Dropout,
        layers.SpatialDropout2D,
    )


def _is_absorbed(layer: keras.layers.Layer, model: keras.Model) -> bool:
    """Whether all that listens to a layer's channels are convolutions and dense layers."""
    from keras import layers

    if any(layer.output is output for output in model.outputs):
        return False
    passing = (*_by_channel(), layers.Flatten)
    for listener in _listeners(layer, model):
        if isinstance(listener, layers.Dense) or (
            isinstance(listener, layers.Conv2D) and listener.groups == 1
        ):
            continue
        if not isinstance(listener, passing) or not _is_absorbed(listener, model):
            return False
    return True


def _sources(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
    import keras

    if isinstance(layer, keras.layers.InputLayer):
        return []
    tensors = layer.input if isinstance(layer.input, list) else [layer.input]
    return [tensor._keras_history.operation for tensor in tensors]


def _listeners(layer: keras.layers.Layer, model: keras.Model) -> list[keras.layers.Layer]:
    return [other for other in model.layers if any(s is layer for s in _sources(other))]
