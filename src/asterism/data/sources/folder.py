"""The user's own inputs, from a folder with a subfolder for each class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.data.classes import labelled_dataset, number_classes, places_of
from asterism.data.dataset import SOURCES, Dataset, reads_a_file
from asterism.data.given.kind import Shaping
from asterism.data.given.reading import GivenInputs, files_of, kind_of, read_inputs
from asterism.data.params import DataParams

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
    kind = kind_of(files_of(path / "train")) or "bytes"
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
    return places_of(names, train.classes)[labels]
