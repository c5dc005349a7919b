"""ONNX Runtime's post-training quantisation."""

from __future__ import annotations

import logging
import tempfile
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from asterism.compression.methods import COMPRESSORS, Compressor, TrainingData
from asterism.compression.onnx_quantiser import make_calibration_reader, silence_advice
from asterism.core.parameters.construction import NoOptions
from asterism.core.parameters.params import ParameterSection
from asterism.models.formats.keras import save_onnx

if TYPE_CHECKING:
    import keras

#: Advice to preprocess the graph; an export of Keras has nothing to gain from it.
logging.getLogger("onnxruntime.quantization").setLevel(logging.ERROR)


class OnnxQuantisation(Compressor):
    """ONNX Runtime's quantiser of Keras' ONNX export; a subclass calls it."""

    suffix: ClassVar[str] = ".onnx"

    @classmethod
    def compress(
        cls, model: keras.Model, options: Any, training: TrainingData, target: Path
    ) -> None:
        """See :class:`asterism.compression.methods.Compressor`."""
        with tempfile.TemporaryDirectory() as folder:
            exported = Path(folder) / "model.onnx"
            save_onnx(model, exported)
            with silence_advice():
                cls.quantise(exported, options, training, target)

    @staticmethod
    @abstractmethod
    def quantise(exported: Path, options: Any, training: TrainingData, target: Path) -> None:
        """Write the quantised version of an exported model."""


@COMPRESSORS.register("onnx_dynamic")
class OnnxDynamicInt8(OnnxQuantisation):
    """8-bit weights; activations are quantised as they come.

    The range of an activation is taken over the whole batch, so such a model's results depend on
    the batch: it is run image by image.
    """

    @staticmethod
    def quantise(exported: Path, options: NoOptions, training: TrainingData, target: Path) -> None:
        """See :meth:`OnnxQuantisation.quantise`."""
        from onnxruntime import quantization

        kind = quantization.QuantType.QUInt8
        quantization.quantize_dynamic(exported, target, weight_type=kind)


@COMPRESSORS.register("onnx_static")
class OnnxStaticInt8(OnnxQuantisation):
    """8-bit weights and activations, whose ranges are measured on training images."""

    class Options(ParameterSection):
        """How the ranges of activations are measured."""

        calibration_images: int = Field(ge=1, description="first n training images to measure on")

    @staticmethod
    def quantise(exported: Path, options: Options, training: TrainingData, target: Path) -> None:
        """See :meth:`OnnxQuantisation.quantise`."""
        from onnxruntime import quantization

        images = training.inputs[: options.calibration_images]
        quantization.quantize_static(
            exported,
            target,
            make_calibration_reader({"images": image[np.newaxis]} for image in images),
        )
