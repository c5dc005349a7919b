"""Removing filters of convolutions, so that a network of fewer filters remains.

A removed filter takes along everything that depends on its channel alone: its bias, its place in a
batch normalisation, and the weights by which the next convolutions and dense layers listen to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import keras

#: Numbers of channels, or all of them.
Channels = NDArray[np.int64] | slice
ALL = slice(None)

_Sources: TypeAlias = "dict[keras.Operation, list[keras.Operation]]"


def removable_convolutions(model: keras.Model) -> list[keras.layers.Layer]:
    """The convolutions whose filters can go.

    Not so where a channel ends in anything but a convolution or a dense layer: in a residual
    addition, whose other summand has that channel too, in an output, or in an operation of which
    it is not known what it does to a channel.
    """
    import keras

    sources = _sources(model)
    convolutions = [layer for layer in sources if isinstance(layer, keras.layers.Conv2D)]
    return [la for la in convolutions if la.groups == 1 and _is_absorbed(la, model, sources)]


def without_filters(model: keras.Model, kept: Mapping[str, NDArray[np.int64]]) -> keras.Model:
    """The network with some filters less in some of its :func:`removable_convolutions`.

    Args:
        model: left as it is.
        kept: by the convolution's name the numbers of the filters that stay, ascending.
    """
    import keras

    def smaller(operation: keras.Operation) -> keras.Operation:
        config = operation.get_config()
        if operation.name in kept:
            config["filters"] = len(kept[operation.name])
        return type(operation).from_config(config)

    cut = keras.models.clone_model(model, clone_function=smaller)
    left: dict[keras.Operation, Channels] = {}
    for operation, sources in _sources(model).items():
        # Where several tensors meet, all of their channels are there.
        given = left[sources[0]] if len(sources) == 1 else ALL
        own = kept.get(operation.name, ALL)
        if isinstance(operation, keras.Layer) and operation.weights:
            cut.get_layer(operation.name).set_weights(_cut_weights(operation, given, own))
        left[operation] = _channels_after(operation, given, own)
    return cut


def _cut_weights(layer: keras.Layer, given: Channels, kept: Channels) -> list[NDArray[Any]]:
    """A layer's weights for the input channels that are left, and for the filters it keeps."""
    import keras

    weights: list[NDArray[Any]] = layer.get_weights()
    if isinstance(layer, keras.layers.Conv2D):
        inputs = given if layer.groups == 1 else ALL
        return [weights[0][:, :, inputs][..., kept], *(bias[kept] for bias in weights[1:])]
    if isinstance(layer, keras.layers.Dense):
        return [weights[0][given], *weights[1:]]
    if isinstance(layer, keras.layers.BatchNormalization):
        return [values[given] for values in weights]
    return weights


def _channels_after(operation: keras.Operation, given: Channels, kept: Channels) -> Channels:
    """Which of an operation's output channels are left."""
    import keras

    if isinstance(operation, keras.layers.Flatten) and not isinstance(given, slice):
        _, *places, channels = operation.input.shape  # no places where they are pooled already
        return np.ravel(np.arange(math.prod(places))[:, np.newaxis] * channels + given)
    return given if isinstance(operation, _by_channel()) else kept


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


def _is_absorbed(operation: keras.Operation, model: keras.Model, sources: _Sources) -> bool:
    """Whether all that listens to its channels are convolutions and dense layers.

    They listen to nothing else: a layer that is called twice must find the same channels each time.
    """
    from keras import layers

    if any(_source(output) is operation for output in model.outputs):
        return False
    passing = (*_by_channel(), layers.Flatten)
    for listener, heard in sources.items():
        if operation not in heard:
            continue
        if len(heard) > 1:
            return False
        if isinstance(listener, layers.Dense) or (
            isinstance(listener, layers.Conv2D) and listener.groups == 1
        ):
            continue
        if not isinstance(listener, passing) or not _is_absorbed(listener, model, sources):
            return False
    return True


def _sources(model: keras.Model) -> _Sources:
    """What gives each operation its tensors, call by call; in the order of computation.

    Operations are layers, and what stands between them, as ``a + b`` does.
    """
    from asterism.models.keras_models.layers import graph_of

    graph = graph_of(model)
    sources: _Sources = {operation: [] for operation in graph.operations}
    for nodes in graph._nodes_by_depth.values():
        for node in nodes:
            sources[node.operation] += [_source(t) for t in node.arguments.keras_tensors]
    return sources


def _source(tensor: keras.KerasTensor) -> keras.Operation:
    return tensor._keras_history.operation
