"""What a data set is, and the way to get one by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.user_files import NO_FILE
from asterism.core.messages.errors import UserError, concerning
from asterism.core.parameters.registry import Registry
from asterism.data.params import DataParams


@dataclass(frozen=True)
class Dataset:
    """Labelled images, split into training and test.

    Attributes:
        train_images: uint8 ``(N, H, W, C)``, C of 1 or 3 (RGB).
        train_labels: int64 ``(N,)`` in ``[0, classes)``.
        test_images: uint8 ``(M, H, W, C)``.
        test_labels: int64 ``(M,)``.
        classes: how many classes there are.
    """

    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.int64]
    classes: int

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """``(H, W, C)``."""
        _, height, width, channels = self.train_images.shape
        return height, width, channels


#: Gives a data set.
Source = Callable[[DataParams], Dataset]

#: Sources by the name that ``data=`` takes.
SOURCES: Registry[Source] = Registry("data set", "asterism.data.sources")

_READ_A_FILE: set[Source] = set()


def reads_a_file(source: Source) -> Source:
    """Decorator of a source that reads the user's own file, ``data.path``."""
    _READ_A_FILE.add(source)
    return source


def require_no_idle_file(params: DataParams) -> None:
    """Reject a file of the user's where the source does not read it.

    Raises:
        UserError: the message names the sources that would.
    """
    if params.path != NO_FILE and SOURCES[params.name] not in _READ_A_FILE:
        readers = [f"data={name}" for name in SOURCES if SOURCES[name] in _READ_A_FILE]
        raise UserError(
            f"path is {params.path!r}, but {params.name} reads no file of yours: choose "
            f"{' or '.join(readers)} as well"
        )


def load(params: DataParams) -> Dataset:
    """The data set that the parameters name, cut to the sizes that they ask for.

    Raises:
        UserError: no such data set, its files are missing, damaged or of the wrong form, or the
            user's file is not read.
    """
    with concerning("data.name"):
        source = SOURCES[params.name]
    with concerning("data"):
        require_no_idle_file(params)
    dataset = source(params)
    train = _at_most(params.train, len(dataset.train_images), "train")
    test = _at_most(params.test, len(dataset.test_images), "test")
    return replace(
        dataset,
        train_images=dataset.train_images[:train],
        train_labels=dataset.train_labels[:train],
        test_images=dataset.test_images[:test],
        test_labels=dataset.test_labels[:test],
    )


def _at_most(wanted: int | None, available: int, split: str) -> int:
    if wanted is not None and wanted > available:
        raise UserError(f"data.{split} asks for {wanted} images, but there are {available}")
    return available if wanted is None else wanted
