"""LiteRT's post-training quantisation."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from asterism.compression.methods import COMPRESSORS, Compressor, TrainingData
from asterism.core.messages.errors import attempting
from asterism.core.parameters.construction import NoOptions
from asterism.core.parameters.params import ParameterSection

if TYPE_CHECKING:
    import keras


class LiteRtQuantisation(Compressor):
    """LiteRT's converter; a subclass names its settings."""

    suffix: ClassVar[str] = ".tflite"

    @classmethod
    def compress(
        cls, model: keras.Model, options: Any, training: TrainingData, target: Path
    ) -> None:
        """See :class:`asterism.compression.methods.Compressor`."""
        import tensorflow as tf

        settings = {"optimizations": [tf.lite.Optimize.DEFAULT], **cls.settings(options, training)}
        with attempting("convert the model to LiteRT"):
            model.export(target, format="litert", verbose=False, **settings)

    @staticmethod
    @abstractmethod
    def settings(options: Any, training: TrainingData) -> dict[str, Any]:
        """Attributes of ``tf.lite.TFLiteConverter``, beside the wish to optimise."""


@COMPRESSORS.register("litert_dynamic_range")
class DynamicRangeQuantisation(LiteRtQuantisation):
    """8-bit weights; activations are quantised as they come."""

    @staticmethod
    def settings(options: NoOptions, training: TrainingData) -> dict[str, Any]:
        """See :meth:`LiteRtQuantisation.settings`."""
        return {}


@COMPRESSORS.register("litert_float16")
class Float16Quantisation(LiteRtQuantisation):
    """Weights of 16 bits."""

    @staticmethod
    def settings(options: NoOptions, training: TrainingData) -> dict[str, Any]:
        """See :meth:`LiteRtQuantisation.settings`."""
        import tensorflow as tf

        return {"target_spec": {"supported_types": [tf.float16]}}


@COMPRESSORS.register("litert_full_integer")
class FullIntegerQuantisation(LiteRtQuantisation):
    """8-bit weights and activations, whose ranges are measured on training images."""

    class Options(ParameterSection):
        """How the ranges of activations are measured."""

        calibration_images: int = Field(ge=1, description="first n training images to measure on")

    @staticmethod
    def settings(options: Options, training: TrainingData) -> dict[str, Any]:
        """See :meth:`LiteRtQuantisation.settings`."""
        import tensorflow as tf

        images = training.inputs[: options.calibration_images]
        return {
            "representative_dataset": lambda: ([image[np.newaxis]] for image in images),
            "target_spec": {"supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]},
        }
