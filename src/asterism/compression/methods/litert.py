"""LiteRT's post-training quantisation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.compression.compressor import COMPRESSORS, Compressor, Material
from asterism.core.params import Section

if TYPE_CHECKING:
    import keras


def _export(model: keras.Model, target: Path, **converter: Any) -> None:
    model.export(target, format="litert", verbose=False, **converter)


@COMPRESSORS.register("litert_dynamic_range")
class DynamicRange(Compressor):
    """8-bit weights; activations are quantised as they come."""

    suffix: ClassVar[str] = ".tflite"

    class Options(Section):
        """None."""

    @staticmethod
    def compress(model: keras.Model, options: Options, material: Material, target: Path) -> None:
        """See :class:`asterism.compression.compressor.Compressor`."""
        import tensorflow as tf

        _export(model, target, optimizations=[tf.lite.Optimize.DEFAULT])


@COMPRESSORS.register("litert_float16")
class Float16(Compressor):
    """Weights of 16 bits."""

    suffix: ClassVar[str] = ".tflite"

    class Options(Section):
        """None."""

    @staticmethod
    def compress(model: keras.Model, options: Options, material: Material, target: Path) -> None:
        """See :class:`asterism.compression.compressor.Compressor`."""
        import tensorflow as tf

        _export(
            model,
            target,
            optimizations=[tf.lite.Optimize.DEFAULT],
            target_spec={"supported_types": [tf.float16]},
        )


@COMPRESSORS.register("litert_full_integer")
class FullInteger(Compressor):
    """8-bit weights and activations, whose ranges are measured on training images."""

    suffix: ClassVar[str] = ".tflite"

    class Options(Section):
        """How the ranges of activations are measured."""

        calibration_images: int = Field(ge=1, description="first n training images to measure on")

    @staticmethod
    def compress(model: keras.Model, options: Options, material: Material, target: Path) -> None:
        """See :class:`asterism.compression.compressor.Compressor`."""
        import tensorflow as tf

        images = material.inputs[: options.calibration_images]
        _export(
            model,
            target,
            optimizations=[tf.lite.Optimize.DEFAULT],
            representative_dataset=lambda: _one_by_one(images),
            target_spec={"supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]},
        )


def _one_by_one(images: NDArray[np.float32]) -> Iterator[list[NDArray[np.float32]]]:
    for start in range(len(images)):
        yield [images[start : start + 1]]
