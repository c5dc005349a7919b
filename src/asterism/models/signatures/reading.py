"""Reading the signature of a model file of any known format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from asterism.core.messages.errors import UserError
from asterism.models.signatures.keras import keras_signature
from asterism.models.signatures.onnx import onnx_signature
from asterism.models.signatures.signature import Signature
from asterism.models.signatures.tflite import tflite_signature

_READERS: dict[str, Callable[[Path], Signature]] = {
    ".onnx": onnx_signature,
    ".tflite": tflite_signature,
    ".lite": tflite_signature,
    ".keras": keras_signature,
    ".h5": keras_signature,
    ".hdf5": keras_signature,
}


def is_model(path: Path) -> bool:
    """Whether a file's suffix says that it is a model whose signature can be read."""
    return path.suffix in _READERS


def read_signature(path: Path) -> Signature:
    """What a model file takes and gives, by its suffix.

    Raises:
        UserError: missing, damaged, too large, or of a format whose signature is not read.
    """
    if path.suffix not in _READERS:
        raise UserError(
            f"{path}: the suffix {path.suffix!r} is of no model format that is read here "
            f"(known: {', '.join(sorted(_READERS))})"
        )
    return _READERS[path.suffix](path)
