"""Keras' own 8-bit quantisation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from asterism.compression.compressor import COMPRESSORS, Compressor, TrainingData
from asterism.core.parameters.construction import NoOptions
from asterism.models.keras_models.reading import save_keras

if TYPE_CHECKING:
    import keras


@COMPRESSORS.register("keras_int8")
class KerasInt8(Compressor):
    """``model.quantize("int8")``: 8-bit weights of the layers that Keras can quantise."""

    suffix: ClassVar[str] = ".keras"

    @staticmethod
    def compress(
        model: keras.Model, options: NoOptions, training: TrainingData, target: Path
    ) -> None:
        """See :class:`asterism.compression.compressor.Compressor`."""
        model.quantize("int8")
        save_keras(model, target)
