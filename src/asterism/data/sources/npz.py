"""The user's own images, from an ``.npz`` file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays
from asterism.core.messages.errors import UserError
from asterism.data.dataset import SOURCES, Dataset, reads_a_file
from asterism.data.params import DataParams

_KEYS = ("train_images", "train_labels", "test_images", "test_labels")


@SOURCES.register("npz")
@reads_a_file
def npz(params: DataParams) -> Dataset:
    """Arrays ``train_images``, ``train_labels``, ``test_images`` and ``test_labels``.

    Images are uint8 ``(N, H, W)`` or ``(N, H, W, C)`` with C of 1 or 3, labels integers from 0.
    The number of classes is the largest training label plus one, and each has a training image.

    Raises:
        UserError: a missing array, wrong dtype or shape, labels out of range, object arrays.
    """
    path = Path(params.path)
    if not path.is_file():
        raise UserError(
            f"data.path names no file ({path}): set it to your .npz with {_named(_KEYS)}"
        )
    arrays = read_arrays(path)
    missing = [key for key in _KEYS if key not in arrays]
    if missing:
        raise UserError(f"{path} lacks {_named(missing)}; it holds {_named(sorted(arrays))}")
    train_images = _images(arrays["train_images"], path, "train_images")
    test_images = _images(arrays["test_images"], path, "test_images")
    if train_images.shape[1:] != test_images.shape[1:]:
        raise UserError(
            f"{path}: training images are {train_images.shape[1:]}, test images "
            f"{test_images.shape[1:]}; they must agree"
        )
    train_labels = _labels(arrays["train_labels"], len(train_images), path, "train_labels")
    test_labels = _labels(arrays["test_labels"], len(test_images), path, "test_labels")
    known = np.unique(train_labels)
    classes = len(known)
    absent = np.flatnonzero(known != np.arange(classes))
    if len(absent):
        raise UserError(
            f"{path}: train_labels go up to {known[-1]}, but no training image has the label "
            f"{absent[0]}; number the classes from 0 without gaps"
        )
    if classes < 2:
        raise UserError(f"{path}: train_labels hold one class only; at least two are needed")
    if int(test_labels.max()) >= classes:
        raise UserError(
            f"{path}: test_labels go up to {test_labels.max()}, train_labels only to {classes - 1}"
        )
    return Dataset(
        train_images,
        train_labels.astype(np.int64),
        test_images,
        test_labels.astype(np.int64),
        classes,
    )


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


def _labels(array: NDArray[Any], images: int, path: Path, key: str) -> NDArray[np.integer]:
    if not np.issubdtype(array.dtype, np.integer):
        raise UserError(f"{path}: {key} must be integers, not {array.dtype}")
    if array.shape != (images,):
        raise UserError(f"{path}: {key} must have the shape ({images},), not {array.shape}")
    if int(array.min()) < 0:
        raise UserError(f"{path}: {key} must be at least 0, but hold {array.min()}")
    return array


def _named(keys: tuple[str, ...] | list[str]) -> str:
    return ", ".join(keys)
