"""Reading the user's inputs: a folder of files, one file, or arrays of NumPy."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_array, read_array_types, read_arrays
from asterism.core.files.folders import list_plain_files
from asterism.core.files.hashes import hash_arrays
from asterism.core.files.limits import parse_json, read_within_limit, require_size_within_limit
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError, name_file_in_errors, reading
from asterism.data.classes import as_labels, number_classes
from asterism.data.kinds import INPUT_KINDS, Shaping

#: Names of the arrays of an .npz file: inputs and labels.
_INPUTS, _LABELS = ("inputs", "images", "x", "items", "test_images"), ("labels", "y", "test_labels")
#: Files of arrays.
ARRAYS = (".npz", ".npy")


@dataclass(frozen=True, eq=False)
class LabelledItems:
    """Inputs, and what is known of them.

    Attributes:
        items: ``(N, ...)``.
        labels: int64 ``(N,)``; None where none were given.
        classes: names of the labels; none where they have none.
        names: of the items, for reports; none for their numbers.
        notes: what was changed to make them arrays, or left out.
    """

    items: NDArray[Any]
    labels: NDArray[np.int64] | None = None
    classes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class GivenInputs(LabelledItems):
    """Inputs of one kind, whose items all have names.

    Attributes:
        kind: its name in :data:`~asterism.data.kinds.INPUT_KINDS`.
    """

    kind: str = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class ArrayInputs(LabelledItems):
    """Inputs in memory.

    Attributes:
        parts: shapes of the inputs of a model that takes several, whose numbers a row of the items
            holds one after the other; none of a model that takes one.
    """

    parts: tuple[tuple[int, ...], ...] = ()

    def digest(self) -> str:
        """SHA-256 of the items, and of labels where there are some."""
        return hash_arrays([self.items] if self.labels is None else [self.items, self.labels])

    def as_kind(self, kind: str) -> GivenInputs:
        """As inputs of a kind; pictures whose channels come first are turned."""
        items, notes = self.items, self.notes
        if kind == "images" and items.ndim == 3:
            items = items[..., np.newaxis]
        elif kind == "images" and items.shape[1] in (1, 3) and items.shape[-1] not in (1, 3):
            items = np.ascontiguousarray(np.moveaxis(items, 1, -1))
            notes = (*notes, "pictures (N, C, H, W) were turned to (N, H, W, C)")
        if kind == "bytes" and items.dtype.kind in "iu":
            items = items.astype(np.int32)  # as of files, which may be filled up with no byte
        names = self.names or tuple(map(str, range(len(items))))
        return GivenInputs(items, self.labels, self.classes, names, notes, kind=kind)


def list_input_files(path: Path) -> list[Path]:
    """The file, or all files of a folder and of its subfolders, in the order of their names.

    Hidden files and folders are left out: editors and systems keep copies and notes there.

    Raises:
        UserError: there is none, or a link leads out of the folder.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UserError(f"there is no file or folder {path}")
    with reading(str(path)):
        found = [(file, file.relative_to(path).parts) for file in list_plain_files(path)]
    files = [file for file, parts in found if not any(part.startswith(".") for part in parts)]
    if not files:
        raise UserError(f"the folder {path} holds no files")
    return files


def infer_kind(files: Sequence[Path]) -> str | None:
    """The kind that most files' suffixes stand for; None for files of arrays, which say nothing."""
    if files[0].suffix in ARRAYS:
        return None
    claimed = {s: name for name in INPUT_KINDS for s in INPUT_KINDS[name].suffixes}
    counts = Counter(claimed.get(path.suffix.lower(), "bytes") for path in files)
    return counts.most_common(1)[0][0]


def read_input_dtype(path: Path) -> np.dtype[Any] | None:
    """The type of the inputs of an ``.npz`` or ``.npy`` file; None where it holds no inputs.

    Raises:
        UserError: it is damaged.
    """
    types = read_array_types(path)
    return next((types[name] for name in ("", *_INPUTS) if name in types), None)


def files_of_kind(path: Path, kind: str) -> list[Path]:
    """The file, or all files of a folder and of its subfolders, that are of a kind."""
    suffixes = INPUT_KINDS[kind].suffixes
    return [p for p in list_input_files(path) if not suffixes or p.suffix.lower() in suffixes]


def class_of_each_file(path: Path, files: Sequence[Path]) -> list[str]:
    """The class of each file: the first folder below ``path`` that the file is in.

    Empty where the folders are no classes: there are fewer than two, or files lie beside them.
    """
    if not path.is_dir():
        return []
    parts = [file.relative_to(path).parts for file in files]
    folders = [part[0] for part in parts if len(part) > 1]
    return folders if len(folders) == len(files) and len(set(folders)) > 1 else []


def read_inputs(path: Path, kind: str, shaping: Shaping, labels: Path | None = None) -> GivenInputs:
    """Read all inputs.

    Args:
        path: a folder, one file of the kind, or an ``.npz`` or ``.npy`` file. Subfolders of a
            folder are classes. In an ``.npz`` file the inputs are called ``inputs`` (or
            ``images``, ``x``) and the labels ``labels`` (or ``y``).
        kind: the kind's name.
        shaping: what the model takes.
        labels: label by the file's name within the folder (``.json``, or ``.csv`` of two columns),
            or a list in the order of the inputs (``.json``, ``.npy``, or one in each line).

    Raises:
        UserError: there are none, one is damaged, they do not fit together or into the model, or
            labels are missing.
    """
    files = list_input_files(path)
    if files[0].suffix in ARRAYS:
        return _of_arrays(files[0], kind, labels)
    reader = INPUT_KINDS[kind]
    wanted = files_of_kind(path, kind)
    if not wanted:
        known = ", ".join(reader.suffixes)
        raise UserError(f"{path} holds no {kind}: there is no file with one of {known}")
    left = len(files) - len(wanted)
    notes = [f"{left} files of {path} are no {kind} and were left out"] if left else []
    what = f"{path} holds {kind}"
    require_size_within_limit(sum(file.stat().st_size for file in wanted), "limits.array_mb", what)
    items, names, origins, taken = [], [], [], 0
    for file in progress(wanted, label=f"reading {kind}"):
        with name_file_in_errors(file):
            found_in_file = reader.read(file, shaping)
        for item in found_in_file:
            items.append(item)
            taken += item.nbytes
            require_size_within_limit(taken, "limits.array_mb", what)
            names.append(file.relative_to(path).as_posix() if path.is_dir() else file.name)
            origins.append(file)
    with name_file_in_errors(path):
        array, changed = reader.stack(items, shaping)
    found, classes = _labels(path, names, class_of_each_file(path, origins), labels)
    return GivenInputs(array, found, classes, tuple(names), (*notes, *changed), kind=kind)


def _of_arrays(path: Path, kind: str, labels: Path | None) -> GivenInputs:
    arrays = {"inputs": read_array(path)} if path.suffix == ".npy" else read_arrays(path)
    items = next((arrays[name] for name in _INPUTS if name in arrays), None)
    if items is None or items.ndim < 2 or not len(items):
        held = ", ".join(f"{name} {arrays[name].shape}" for name in sorted(arrays)) or "nothing"
        raise UserError(
            f"{path} holds no inputs: an array of at least two axes called {_INPUTS[0]} (it holds "
            f"{held})"
        )
    own = next((arrays[name] for name in _LABELS if name in arrays), None)
    if own is not None and labels is None:
        return ArrayInputs(items, _own_labels(own, len(items), path)).as_kind(kind)
    names = [str(number) for number in range(len(items))]
    return ArrayInputs(items, *_labels(path, names, [], labels)).as_kind(kind)


def _own_labels(own: NDArray[Any], count: int, path: Path) -> NDArray[np.int64]:
    """The labels of an array file: whole numbers, one for each input, which may be a column."""
    labels = own[:, 0] if own.shape == (count, 1) else own
    whole = labels.dtype.kind in "iuf" and bool((labels == np.rint(labels)).all())
    if labels.shape != (count,) or not whole:
        raise UserError(
            f"{path}: the labels are {own.dtype} {own.shape}: give one integer for each of the "
            f"{count} inputs (of scores and one-hot rows: labels.argmax(1)), or leave them out"
        )
    return as_labels(labels.astype(np.int64), str(path))


def _labels(
    inputs: Path, names: Sequence[str], folders: Sequence[str], path: Path | None
) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    """Labels and names of classes: from the file, else from the folders."""
    if path is not None:
        told = _read_labels(path, len(names))
        given = [told.get(name) for name in names] if isinstance(told, dict) else told
        if not isinstance(given, list) or len(given) != len(names) or None in given:
            raise UserError(
                f"{path} has no label for each of the {len(names)} inputs: give a list in their "
                f"order, or labels by name, such as {names[0]}"
            )
        if all(isinstance(label, int) for label in given):
            return as_labels(given, str(path)), ()
        named = [json.dumps(x) if not isinstance(x, str) else x for x in given]
        return number_classes(named, str(path))
    return number_classes(folders, str(inputs)) if folders else (None, ())


def _read_labels(path: Path, count: int) -> Any:
    """What a file of labels says: labels by name, or a list of as many as there are inputs."""
    if path.suffix == ".npy":
        return _own_labels(read_array(path), count, path).tolist()
    with reading(f"the labels {path}"):
        text = read_within_limit(path, "limits.text_mb").decode("utf-8-sig")
        if path.suffix == ".json":
            return parse_json(text, str(path))
        rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if row]
        if any(len(row) > 1 for row in rows):
            return {row[0]: row[1] for row in rows if len(row) == 2}
        headline = len(rows) - count == 1
        return [row[0] for row in rows[headline:]]
