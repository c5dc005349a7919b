"""Compression methods: what one is, how its result is measured, and a module for each idea."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.compression.params import CompressionParams
from asterism.core.files.artifacts import replacing, write_json
from asterism.core.messages.errors import name_file_in_errors
from asterism.core.parameters.construction import NoOptions, options_of
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.registry import Registry
from asterism.core.settings import machine
from asterism.data import Dataset
from asterism.models.classifier import FileClassifier
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.keras_models.reading import load_keras
from asterism.models.training.fitting import make_deterministic

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True)
class TrainingData:
    """What a compressor may use beside the model.

    Attributes:
        inputs: preprocessed training images, float32 ``(N, H, W, C)``.
        labels: int64 ``(N,)``.
        seed: the run's seed.
    """

    inputs: NDArray[np.float32]
    labels: NDArray[np.int64]
    seed: int


class Compressor(ABC):
    """Makes a smaller model that stands for the original."""

    #: Suffix, and with it the format, of the file that it writes.
    suffix: ClassVar[str]
    #: Whether it trains on the device of ``machine.yaml``, and not on the CPU.
    trains_on_device: ClassVar[bool] = False
    #: The options that this method takes.
    Options: ClassVar[type[ParameterSection]] = NoOptions

    @staticmethod
    @abstractmethod
    def compress(model: keras.Model, options: Any, training: TrainingData, target: Path) -> None:
        """Write the compressed model to ``target``.

        Args:
            model: the original without models inside; it may be changed on the way.
            options: the method's own.
            training: what else the method may use.
            target: where to.
        """


COMPRESSORS: Registry[type[Compressor]] = Registry("compressor", "asterism.compression.methods")


def method_options(params: CompressionParams) -> ParameterSection:
    """The method's options, as it declares them.

    Raises:
        UserError: no such method, or the options are none of its.
    """
    return options_of(COMPRESSORS, params.method, params.options)


def compress(
    params: CompressionParams,
    original: Path,
    folder: Path,
    data: Dataset,
    preprocessing: PreprocessingParams,
    seed: int,
) -> dict[str, Any]:
    """Make the compressed model that ``params`` describe, and compare it with its original.

    Args:
        params: method and options.
        original: a ``.keras`` or ``.h5`` file.
        folder: gets ``model`` with the method's suffix and ``summary.json``; replaced as a whole.
        data: training images for calibration and tuning, test images for the comparison.
        preprocessing: what both models take.
        seed: the run's seed.

    Returns:
        Size of both files in bytes, as they are and deflated; accuracy of both on the test
        images; agreement, the share of test images that both give the same label; and the device
        that trained the model, where it was not the CPU.
    """
    from asterism.models.keras_models.layers import flatten_model

    method = COMPRESSORS[params.method]
    options = method_options(params)
    make_deterministic(seed, "compress", params.method)
    training = TrainingData(preprocessing.apply(data.train_images), data.train_labels, seed)
    with replacing(folder) as temporary:
        temporary.mkdir()
        target = temporary / f"model{method.suffix}"
        with name_file_in_errors(original):
            method.compress(flatten_model(load_keras(original)), options, training, target)
        facts = {"method": params.method} | _measure(original, target, data, preprocessing)
        if method.trains_on_device:
            facts |= machine.other_device()
        write_json(temporary / "summary.json", facts)
    return facts


def _measure(
    original: Path, compressed: Path, data: Dataset, preprocessing: PreprocessingParams
) -> dict[str, Any]:
    labels = {
        name: FileClassifier(path, preprocessing).predict(data.test_images).argmax(axis=1)
        for name, path in (("original", original), ("compressed", compressed))
    }
    return {
        "bytes": compressed.stat().st_size,
        "original_bytes": original.stat().st_size,
        "deflated_bytes": _deflated(compressed),
        "original_deflated_bytes": _deflated(original),
        "accuracy": float((labels["compressed"] == data.test_labels).mean()),
        "original_accuracy": float((labels["original"] == data.test_labels).mean()),
        "agreement": float((labels["compressed"] == labels["original"]).mean()),
        "deviating_test_images": int((labels["compressed"] != labels["original"]).sum()),
    }


def _deflated(path: Path) -> int:
    """Size after lossless compression: where a pruned model's zeros take no room."""
    return len(zlib.compress(path.read_bytes(), 9))
