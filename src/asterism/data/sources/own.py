"""The user's own inputs: an ``.npz`` file, or a folder with a subfolder for each class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.data.classes import class_indices, labelled_dataset, number_classes
from asterism.data.given import GivenInputs, infer_kind, list_input_files, read_inputs
from asterism.data.kinds import Shaping
from asterism.data.sources import SOURCES, DataParams, Dataset, reads_a_file

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
            f"data.path names no file ({path}): set it to your .npz with {', '.join(_KEYS)}"
        )
    arrays = read_arrays(path)
    keys = _OTHER_KEYS if "train_inputs" in arrays else _KEYS
    missing = [key for key in keys if key not in arrays]
    if missing:
        raise UserError(f"{path} lacks {', '.join(missing)}; it holds {', '.join(sorted(arrays))}")
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


log = get_logger(__name__)

_PARTS = ("train", "test")


@SOURCES.register("folder")
@reads_a_file
def folder(params: DataParams) -> Dataset:
    """Files ``train/<class>/…`` and ``test/<class>/…``: pictures, sounds, or texts as bytes.

    What they are is told by the suffixes of most of them: ``.png`` and ``.jpg`` are images,
    ``.wav`` sound, anything else bytes, as int32 that is filled up with 0. All are brought to one
    size: that of the first picture, or the length of the longest file for training.

    Raises:
        UserError: a folder is missing or empty, a file is damaged, the pictures differ in size, or
            a class of the tests has no file for training.
    """
    path = Path(params.path)
    for part in _PARTS:
        if not (path / part).is_dir():
            raise UserError(
                f"data.path names no folder with {' and '.join(_PARTS)} ({path}): put the files of "
                "each class into train/<class> and test/<class>"
            )
    kind = infer_kind(list_input_files(path / "train")) or "bytes"
    train = read_inputs(path / "train", kind, Shaping())
    shape = train.items.shape[1:]
    shaping = Shaping(sizes=shape) if kind == "images" else Shaping(length=shape[0])
    test = read_inputs(path / "test", kind, shaping)
    for note in (*train.notes, *test.notes):
        log.info(note)
    labels = _labels(train, path / "train"), _labels(test, path / "test")
    if train.classes:
        labels = labels[0], _renumbered(labels[1], test, train, path)
    return labelled_dataset(kind, (train.items, test.items), labels, path)


def _labels(given: GivenInputs, path: Path) -> NDArray[np.int64]:
    """The classes that folders stand for; one folder alone is one class."""
    if given.labels is not None:
        return given.labels
    names = {name.partition("/")[0] for name in given.names if "/" in name}
    if len(names) != 1 or not all("/" in name for name in given.names):
        raise UserError(f"{path} has files outside of its classes: put each into a subfolder")
    (only,) = names
    labels, _ = number_classes([only] * len(given.names), str(path))
    return labels


def _renumbered(
    labels: NDArray[np.int64], test: GivenInputs, train: GivenInputs, path: Path
) -> NDArray[np.int64]:
    """Labels of the tests, numbered as those for training."""
    names = test.classes or (test.names[0].partition("/")[0],)
    known = set(train.classes)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UserError(f"{path}: test has the class {unknown[0]!r}, and train has not")
    return class_indices(names, train.classes)[labels]
