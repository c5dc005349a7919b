"""Labels as numbers, how many classes there may be, and labelled inputs as a data set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.data.sources import Dataset

#: Work and pages are by class. ImageNet-21k has 21,841.
MOST_CLASSES = 30_000

#: Digits of the largest label, which is an int64.
_DIGITS = 18


def as_labels(given: Sequence[int] | NDArray[np.integer], source: str) -> NDArray[np.int64]:
    """Whole numbers as int64 ``(N,)``.

    Args:
        given: of any size, at least one.
        source: where they are from, for messages.

    Raises:
        UserError: one is too large, or there are more classes than :data:`MOST_CLASSES`.
    """
    ends = (given.min(), given.max()) if isinstance(given, np.ndarray) else (min(given), max(given))
    if any(abs(int(end)) >= 10**_DIGITS for end in ends):
        raise UserError(f"{source} holds labels of more than {_DIGITS} digits")
    labels = np.asarray(given, np.int64)
    require_few_classes(len(np.unique(labels)), source)
    return labels


def number_classes(names: Sequence[str], source: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Names as numbers: those that are numbers stay what they are, others count in their order.

    Args:
        names: of classes, one for each input.
        source: where they are from, for messages.

    Returns:
        int64 ``(N,)``, and the name of each number; no names where they are numbers.

    Raises:
        UserError: as :func:`as_labels`.
    """
    different = set(names)
    if all(name.isdecimal() for name in different):
        if any(len(name) > _DIGITS for name in different):
            raise UserError(f"{source} holds labels of more than {_DIGITS} digits")
        return as_labels([int(name) for name in names], source), ()
    require_few_classes(len(different), source)
    classes = tuple(sorted(different))
    return class_indices(names, classes), classes


def class_indices(names: Iterable[str], classes: Sequence[str]) -> NDArray[np.int64]:
    """The place of each name among the classes, int64 ``(N,)``."""
    places = {name: place for place, name in enumerate(classes)}
    return np.array([places[name] for name in names], np.int64)


def require_few_classes(classes: int, source: str) -> None:
    """Reject more classes than :data:`MOST_CLASSES`.

    Raises:
        UserError: it says how many there are.
    """
    if classes > MOST_CLASSES:
        raise UserError(f"{source} has {classes:,} classes, and the limit is {MOST_CLASSES:,}")


def labelled_dataset(
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
    require_few_classes(classes, str(path))
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
