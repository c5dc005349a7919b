"""Pruning: the weights that matter least become zero, or go, and the rest is tuned.

Keras brings no pruning of its own (it lived in a package for Keras 2), so these are the published
rules: magnitude pruning (Han et al., NeurIPS 2015), over the whole network or layer by layer, and
filter pruning by the L1 norm (Li et al., ICLR 2017).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.compression.compressor import COMPRESSORS, Compressor, TrainingData
from asterism.compression.filters import removable_convolutions, without_filters
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.models.keras_models.reading import save_keras
from asterism.models.parameters.params import TrainingParams
from asterism.models.training.fitting import compile_for, fit_model

if TYPE_CHECKING:
    import keras

Mask = NDArray[np.float32]

log = get_logger(__name__)


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
        """See :class:`asterism.compression.compressor.Compressor`."""
        kernels = _kernels(model)
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
        """See :class:`asterism.compression.compressor.Compressor`."""
        import keras

        kept = {}
        for layer in removable_convolutions(model):
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
        smaller = without_filters(model, kept)
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
        """See :class:`asterism.compression.compressor.Compressor`.

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


def _kernels(model: keras.Model) -> list[Any]:
    import keras

    kinds = (keras.layers.Conv2D, keras.layers.DepthwiseConv2D, keras.layers.Dense)
    return [layer.kernel for layer in model.layers if isinstance(layer, kinds)]


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
