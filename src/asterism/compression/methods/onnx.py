"""ONNX Runtime's post-training quantisation."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from onnxruntime import quantization
from pydantic import Field

from asterism.compression.compressor import COMPRESSORS, Compressor, Material
from asterism.core.params import Section
from asterism.models.formats.keras import save_onnx

if TYPE_CHECKING:
    import keras

#: Advice to preprocess the graph; an export of Keras has nothing to gain from it.
logging.getLogger("onnxruntime.quantization").setLevel(logging.ERROR)


@COMPRESSORS.register("onnx_dynamic")
class Dynamic(Compressor):
    """8-bit weights; activations are quantised as they come.

    The range of an activation is taken over the whole batch, so such a model's results depend on
    the batch: it is run image by image.
    """

    suffix: ClassVar[str] = ".onnx"

    class Options(Section):
        """None."""

    @staticmethod
    def compress(model: keras.Model, options: Options, material: Material, target: Path) -> None:
        """See :class:`asterism.compression.compressor.Compressor`."""
        with tempfile.TemporaryDirectory() as folder:
            exported = Path(folder) / "model.onnx"
            save_onnx(model, exported)
            _quiet_root(
                lambda: quantization.quantize_dynamic(
                    exported, target, weight_type=quantization.QuantType.QUInt8
                )
            )


@COMPRESSORS.register("onnx_static")
class Static(Compressor):
    """8-bit weights and activations, whose ranges are measured on training images."""

    suffix: ClassVar[str] = ".onnx"

    class Options(Section):
        """How the ranges of activations are measured."""

        calibration_images: int = Field(ge=1, description="first n training images to measure on")

    @staticmethod
    def compress(model: keras.Model, options: Options, material: Material, target: Path) -> None:
        """See :class:`asterism.compression.compressor.Compressor`."""
        reader = _CalibrationImages(material.inputs[: options.calibration_images])
        with tempfile.TemporaryDirectory() as folder:
            exported = Path(folder) / "model.onnx"
            save_onnx(model, exported)
            _quiet_root(lambda: quantization.quantize_static(exported, target, reader))


class _CalibrationImages(quantization.CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, images: NDArray[np.float32]) -> None:
        self._images: Iterator[NDArray[np.float32]] = iter(images)

    def get_next(self) -> dict[str, NDArray[np.float32]] | None:
        image = next(self._images, None)
        return None if image is None else {"images": image[np.newaxis]}


def _quiet_root(work: Any) -> None:
    """Run ``work`` without its advice to the root logger."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        work()
    finally:
        root.setLevel(level)
