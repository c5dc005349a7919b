"""Pruning: the weights that matter least become zero, or go, and the rest is tuned.

Keras brings no pruning of its own (it lived in a package for Keras 2), so these are the published
rules: magnitude pruning (Han et al., NeurIPS 2015), over the whole network or layer by layer, and
filter pruning by the L1 norm (Li et al., ICLR 2017).

A filter of a convolution can also be removed, so that a network of fewer filters remains. It takes
along everything that depends on its channel alone: its bias, its place in a batch normalisation,
and the weights by which the next convolutions and dense layers listen to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.compression.methods import COMPRESSORS, Compressor, TrainingData
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.models.keras_models.reading import save_keras
from asterism.models.params import TrainingParams
from asterism.models.training.fitting import compile_for, fit_model

if TYPE_CHECKING:
    import keras


#: Numbers of channels, or all of them.
Channels = NDArray[np.int64] | slice
ALL = slice(None)

_Sources: TypeAlias = "dict[keras.Operation, list[keras.Operation]]"


log = get_logger(__name__)
Mask = NDArray[np.float32]


def find_removable_convolutions(model: keras.Model) -> list[keras.layers.Layer]:
    """The convolutions whose filters can go.

    Not so where a channel ends in anything but a convolution or a dense layer: in a residual
    addition, whose other summand has that channel too, in an output, or in an operation of which
    it is not known what it does to a channel.
    """
    import keras

    sources = _sources(model)
    convolutions = [layer for layer in sources if isinstance(layer, keras.layers.Conv2D)]
    return [la for la in convolutions if la.groups == 1 and _is_absorbed(la, model, sources)]


def remove_filters(model: keras.Model, kept: Mapping[str, NDArray[np.int64]]) -> keras.Model:
    """The network with some filters less in some of its :func:`find_removable_convolutions`.

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
    from asterism.models.keras_models.layers import keras_graph

    graph = keras_graph(model)
    sources: _Sources = {operation: [] for operation in graph.operations}
    for nodes in graph._nodes_by_depth.values():
        for node in nodes:
            sources[node.operation] += [_source(t) for t in node.arguments.keras_tensors]
    return sources


def _source(tensor: keras.KerasTensor) -> keras.Operation:
    return tensor._keras_history.operation


@COMPRESSORS.register("magnitude_pruning")
class MagnitudePruning(Compressor):
    """The smallest weights become zero."""

    suffix: ClassVar[str] = ".keras"

    class Options(ParameterSection):
        """Which weights go, and how the others are tuned."""

        sparsity: float = Field(ge=0, lt=1, description="share of the weights that become zero")
        scope: Literal["global", "layer"] = Field(
            description="whether the share holds over all kernels together or in each of them"
        )
        tuning: TrainingParams

    @staticmethod
    def compress(
        model: keras.Model, options: Options, training: TrainingData, target: Path
    ) -> None:
        """See :class:`asterism.compression.methods.Compressor`."""
        import keras

        kinds = (keras.layers.Conv2D, keras.layers.DepthwiseConv2D, keras.layers.Dense)
        kernels = [layer.kernel for layer in model.layers if isinstance(layer, kinds)]
        values = [np.abs(kernel.numpy()) for kernel in kernels]
        if options.scope == "global":
            everything = np.concatenate([value.ravel() for value in values])
            limits = [_limit(everything, options.sparsity)] * len(values)
        else:
            limits = [_limit(value.ravel(), options.sparsity) for value in values]
        masks = [(v > limit).astype(np.float32) for v, limit in zip(values, limits, strict=True)]
        _tune(model, list(zip(kernels, masks, strict=True)), options.tuning, training)
        save_keras(model, target)


@COMPRESSORS.register("filter_pruning")
class FilterPruning(Compressor):
    """Of every convolution, the filters with the smallest L1 norm are removed.

    A network of fewer filters remains. Convolutions that end in a residual addition stay whole,
    since the other summand has all their channels; the log names them.
    """

    suffix: ClassVar[str] = ".keras"

    class Options(ParameterSection):
        """How many filters go, and how the others are tuned."""

        share: float = Field(ge=0, lt=1, description="share of each convolution's filters")
        tuning: TrainingParams

    @staticmethod
    def compress(
        model: keras.Model, options: Options, training: TrainingData, target: Path
    ) -> None:
        """See :class:`asterism.compression.methods.Compressor`."""
        import keras

        kept = {}
        for layer in find_removable_convolutions(model):
            norms = np.abs(layer.kernel.numpy()).sum(axis=(0, 1, 2))
            kept[layer.name] = np.sort(
                np.argsort(norms, kind="stable")[int(options.share * len(norms)) :]
            )
        convolutions = [la.name for la in model.layers if isinstance(la, keras.layers.Conv2D)]
        log.info(
            "removing filters",
            convolutions=len(kept),
            kept_whole=[name for name in convolutions if name not in kept],
        )
        smaller = remove_filters(model, kept)
        if smaller.count_params() == model.count_params():
            log.warning("no filter was removed: the model is tuned, but no smaller")
        _tune(smaller, [], options.tuning, training)
        save_keras(smaller, target)


@COMPRESSORS.register("convolution_pruning")
class ConvolutionPruning(Compressor):
    """The smallest weights of one convolution become zero, and nothing else changes.

    The Dflare paper prunes each convolution of VGG-16 alone (figures 6 and 7).
    """

    suffix: ClassVar[str] = ".keras"

    class Options(ParameterSection):
        """Which convolution, and how much of it goes."""

        convolution: int = Field(ge=1, description="which of the network's convolutions, from 1")
        sparsity: float = Field(gt=0, lt=1, description="share of its weights that become zero")

    @staticmethod
    def compress(
        model: keras.Model, options: Options, training: TrainingData, target: Path
    ) -> None:
        """See :class:`asterism.compression.methods.Compressor`.

        Raises:
            UserError: the network has fewer convolutions.
        """
        import keras

        found = [layer for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
        if options.convolution > len(found):
            raise UserError(
                f"options.convolution is {options.convolution}, and the network has "
                f"{len(found)} convolutions"
            )
        kernel = found[options.convolution - 1].kernel
        magnitudes = np.abs(kernel.numpy())
        kept = magnitudes > _limit(magnitudes.ravel(), options.sparsity)
        kernel.assign(kernel.numpy() * kept)
        save_keras(model, target)


def _limit(magnitudes: NDArray[np.float32], sparsity: float) -> float:
    """The largest magnitude that goes; −1 where none does."""
    count = int(sparsity * magnitudes.size)
    return float(np.partition(magnitudes, count - 1)[count - 1]) if count else -1.0


def _tune(
    model: keras.Model,
    masked: list[tuple[Any, Mask]],
    params: TrainingParams,
    training: TrainingData,
) -> None:
    """Zero what the masks forbid, and train the rest."""
    import keras

    def apply(_batch: int = 0, logs: Any = None) -> None:
        for variable, mask in masked:
            variable.assign(variable * mask)

    compile_for(model, params)
    apply()
    reset = keras.callbacks.LambdaCallback(on_train_batch_end=apply)
    fit_model(model, training.inputs, training.labels, params, callbacks=[reset])
