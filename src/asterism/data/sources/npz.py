"""The user's own inputs, from an ``.npz`` file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays
from asterism.core.messages.errors import UserError
from asterism.data.classes import labelled_dataset
from asterism.data.dataset import SOURCES, Dataset, reads_a_file
from asterism.data.params import DataParams

_KEYS = ("train_images", "train_labels", "test_images", "test_labels")
#: What inputs that are no images are called.
_OTHER_KEYS = ("train_inputs", "train_labels", "test_inputs", "test_labels")


@SOURCES.register("npz")
@reads_a_file
def npz(params: DataParams) -> Dataset:
    """Arrays ``train_images``, ``train_labels``, ``test_images`` and ``test_labels``.

    Images are uint8 ``(N, H, W)`` or ``(N, H, W, C)`` with C of 1 or 3, labels integers from 0.
    The number of classes is the largest training label plus one, and each has a training input.
    Inputs of other kinds are called ``train_inputs`` and ``test_inputs``: integers ``(N, T)`` are
    token ids, real numbers ``(N, T, ...)`` tensors.

    Raises:
        UserError: a missing array, wrong dtype or shape, labels out of range, object arrays.
    """
    path = Path(params.path)
    if not path.is_file():
        raise UserError(
            f"data.path names no file ({path}): set it to your .npz with {_named(_KEYS)}"
        )
    arrays = read_arrays(path)
    keys = _OTHER_KEYS if "train_inputs" in arrays else _KEYS
    missing = [key for key in keys if key not in arrays]
    if missing:
        raise UserError(f"{path} lacks {_named(missing)}; it holds {_named(sorted(arrays))}")
    kind, read = ("images", _images) if keys is _KEYS else (_kind(arrays[keys[0]]), _inputs)
    train_images, test_images = (read(arrays[key], path, key) for key in (keys[0], keys[2]))
    if train_images.shape[1:] != test_images.shape[1:] or train_images.dtype != test_images.dtype:
        what = "images" if kind == "images" else "inputs"
        raise UserError(
            f"{path}: training {what} are {_form(train_images)}, test {what} "
            f"{_form(test_images)}; they must agree"
        )
    labels = (arrays["train_labels"], arrays["test_labels"])
    return labelled_dataset(kind, (train_images, test_images), labels, path)


def _kind(array: NDArray[Any]) -> str:
    return "tokens" if array.dtype.kind in "iu" else "tensors"


def _inputs(array: NDArray[Any], path: Path, key: str) -> NDArray[Any]:
    """Token ids as int32 or int64, real numbers as float32."""
    integers = array.dtype.kind in "iu"
    fits = array.ndim == 2 if integers else array.dtype.kind == "f" and array.ndim >= 2
    if not fits or 0 in array.shape:
        raise UserError(
            f"{path}: {key} must be token ids, integers (N, T), or real numbers (N, T, ...), not "
            f"{_form(array)}"
        )
    if integers:
        wide = array.dtype.itemsize > 4 or array.dtype == np.uint32
        return array.astype(np.int64 if wide else np.int32)
    if not np.isfinite(array).all():
        raise UserError(f"{path}: {key} hold NaN or infinity")
    return array.astype(np.float32)


def _form(array: NDArray[Any]) -> str:
    return f"{array.dtype} {array.shape}"


def _images(array: NDArray[Any], path: Path, key: str) -> NDArray[np.uint8]:
    if array.dtype != np.uint8:
        raise UserError(f"{path}: {key} must be uint8 in [0, 255], not {array.dtype}")
    if array.ndim == 3:
        array = array[..., np.newaxis]
    if array.ndim != 4 or array.shape[3] not in (1, 3) or 0 in array.shape:
        raise UserError(
            f"{path}: {key} must have the shape (N, H, W) or (N, H, W, C) with C of 1 or 3 "
            f"and at least one image, not {array.shape}"
        )
    return array


def _named(keys: tuple[str, ...] | list[str]) -> str:
    return ", ".join(keys)
