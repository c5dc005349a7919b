"""Inputs with their labels as a data set, checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.data.classes import require_few
from asterism.data.dataset import Dataset


def labelled(
    kind: str,
    inputs: tuple[NDArray[Any], NDArray[Any]],
    labels: tuple[NDArray[Any], NDArray[Any]],
    path: Path,
) -> Dataset:
    """A data set whose labels are checked.

    Args:
        kind: what the inputs are.
        inputs: for training and for tests.
        labels: of both.
        path: where they come from, for messages.

    Raises:
        UserError: labels of the wrong form or out of range, too many classes, or a class without a
            training input.
    """
    train_labels, test_labels = (
        _labels(array, len(own), path, key)
        for array, own, key in zip(labels, inputs, ("train_labels", "test_labels"), strict=True)
    )
    known = np.unique(train_labels)
    classes = len(known)
    absent = np.flatnonzero(known != np.arange(classes))
    if len(absent):
        raise UserError(
            f"{path}: train_labels go up to {known[-1]}, but no training "
            f"{'image' if kind == 'images' else 'input'} has the label "
            f"{absent[0]}; number the classes from 0 without gaps"
        )
    require_few(classes, str(path))
    if classes < 2:
        raise UserError(f"{path}: train_labels hold one class only; at least two are needed")
    if int(test_labels.max()) >= classes:
        raise UserError(
            f"{path}: test_labels go up to {test_labels.max()}, train_labels only to {classes - 1}"
        )
    train_inputs, test_inputs = inputs
    return Dataset(
        train_inputs,
        train_labels.astype(np.int64),
        test_inputs,
        test_labels.astype(np.int64),
        classes,
        kind,
    )


def _labels(array: NDArray[Any], images: int, path: Path, key: str) -> NDArray[np.integer]:
    if not np.issubdtype(array.dtype, np.integer):
        raise UserError(f"{path}: {key} must be integers, not {array.dtype}")
    if array.shape != (images,):
        raise UserError(f"{path}: {key} must have the shape ({images},), not {array.shape}")
    if int(array.min()) < 0:
        raise UserError(f"{path}: {key} must be at least 0, but hold {array.min()}")
    return array
