"""Inputs in whatever form a caller has them: arrays, tensors, data sets, loaders, files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.limits import require_room
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.data.classes import as_labels, number_classes
from asterism.data.given.kind import Shaping
from asterism.data.given.reading import Arrays, files_of, kind_of, read_inputs
from asterism.models.runtimes.runtime import as_array


def as_given(inputs: Any, labels: Any = None) -> Path | Arrays:
    """Inputs as vetting takes them: a path as it is, everything else as arrays in memory.

    Args:
        inputs: an array or a tensor ``(N, ...)``; a sequence of such without the first axis; a
            data set of PyTorch, whose items are an input or begin with one and a label; a loader
            of batches of such; a file or a folder; or arrays of real numbers by name, for a module
            of PyTorch that takes several in this order.
        labels: integers or names ``(N,)``; None for those of the data set, or none. With files,
            they are files too, and named where these are read.

    Raises:
        UserError: they are something else, or do not fit together.
    """
    if isinstance(inputs, Arrays):
        return inputs
    if isinstance(inputs, str | os.PathLike):
        return Path(inputs)
    if isinstance(inputs, Mapping):
        parts = {name: as_array(part) for name, part in inputs.items()}
        joined = as_given(_side_by_side(parts), labels)
        assert isinstance(joined, Arrays)
        return replace(joined, parts=tuple(part.shape[1:] for part in parts.values()))
    items, own = _collected(inputs)
    if items.ndim < 2 or not len(items) or items.dtype.kind not in "fiub":
        raise UserError(
            "inputs must be an array of numbers with at least two axes, the first of which counts "
            f"them; this one has the shape {items.shape} and the type {items.dtype}"
        )
    told = own if labels is None else labels
    if told is None:
        return Arrays(items)
    given = as_array(told)
    if given.shape != (len(items),) or given.dtype.kind not in "iuU":
        raise UserError(
            f"labels must be integers or names, one for each of the {len(items)} inputs; they "
            f"have the shape {given.shape} and the type {given.dtype}"
        )
    if given.dtype.kind == "U":
        return Arrays(items, *number_classes(given.tolist(), "labels"))
    return Arrays(items, as_labels(given, "labels"))


def read_as_they_are(path: Path, kind: str | None, labels: Path | None) -> Arrays:
    """Files as arrays, in no form of any model's.

    Args:
        path: a file or a folder.
        kind: of the inputs; None for what the files' names say.
        labels: a file of labels.

    Raises:
        UserError: they cannot be read, or have several sizes.
    """
    kind = kind or kind_of(files_of(path)) or "tensors"
    read = read_inputs(path, kind, Shaping(), labels)
    return Arrays(read.items, read.labels, read.classes, read.names, read.notes)


def _side_by_side(parts: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Rows that hold the numbers of all arrays."""
    if not parts or any(part.ndim < 1 or part.dtype.kind != "f" for part in parts.values()):
        raise UserError("several inputs must be arrays of real numbers, one row for each item")
    counts = {name: len(part) for name, part in parts.items()}
    if len(set(counts.values())) > 1:
        raise UserError(f"several inputs must have equally many items; these have {counts}")
    return np.concatenate([part.reshape(len(part), -1) for part in parts.values()], axis=1)


def _collected(inputs: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """All items, and labels where the data have some."""
    if hasattr(inputs, "dataset") and hasattr(inputs, "__iter__"):  # a loader: batches
        return _joined(inputs, np.concatenate)
    plain = isinstance(inputs, Sequence) or hasattr(inputs, "shape")
    if hasattr(inputs, "__getitem__") and hasattr(inputs, "__len__") and not plain:
        return _joined((inputs[number] for number in range(len(inputs))), np.stack)
    if isinstance(inputs, Sequence):
        return np.stack([as_array(item) for item in inputs]), None
    return as_array(inputs), None


def _joined(parts: Any, join: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Inputs and labels of all parts, which are batches or single items."""
    items, labels, taken = [], [], 0
    for part in progress(parts, label="reading inputs"):
        first, label = _parted(part)
        items.append(as_array(first))
        taken += items[-1].nbytes
        require_room(taken, "limits.array_mb", "the inputs take memory")
        if label is not None:
            labels.append(as_array(label))
    if not items:
        raise UserError("there are no inputs")
    return join(items), join(labels) if len(labels) == len(items) else None


def _parted(part: Any) -> tuple[Any, Any]:
    """The input of a batch or an item, and its label, where that follows."""
    if not isinstance(part, tuple | list):
        return part, None
    if len(part) > 2:
        raise UserError(
            f"each item of the data has {len(part)} parts: give an input and its label, or "
            "wrap the model in a function of one array"
        )
    return part[0], part[1] if len(part) == 2 else None


def file_or_none(labels: Any) -> Path | None:
    """A file of labels; None where labels are none, or in memory."""
    return Path(labels) if isinstance(labels, str | os.PathLike) else None


def in_python(text: str) -> str:
    """A sentence that names ``--kind`` of the command line, with ``kind=`` of a function."""
    return re.sub(r"--([a-z]+)", r"\1=", text.replace("--constant", "--constants"))
