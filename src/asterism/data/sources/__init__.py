"""Data sets: their contents and parameters, and loading them by name; a module for each source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.files.user_files import NO_FILE, File
from asterism.core.messages.errors import UserError, prefix_errors
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.registry import Registry
from asterism.core.parameters.validation import named


class DataParams(ParameterSection):
    """Which images, or other inputs, the pipeline works on."""

    accepted_by: ClassVar[str | None] = "asterism.data.sources:require_no_unused_file"

    name: Annotated[str, named("asterism.data.sources:SOURCES")] = Field(
        description="source of the images: a module of asterism.data.sources"
    )
    path: File = Field(description="the user's own file, for sources that read one")
    train: int | None = Field(ge=1, description="use only the first n training images; null: all")
    test: int | None = Field(ge=1, description="use only the first n test images; null: all")


@dataclass(frozen=True)
class Dataset:
    """Labelled inputs, split into training and test; mostly images, after which they are named.

    Attributes:
        train_images: ``(N, ...)``: images are uint8 ``(N, H, W, C)``, C of 1 or 3 (RGB); tokens
            and bytes int32 ``(N, T)``; sound float32 ``(N, S)``; tensors float32 ``(N, T, ...)``.
        train_labels: int64 ``(N,)`` in ``[0, classes)``.
        test_images: ``(M, ...)``.
        test_labels: int64 ``(M,)``.
        classes: how many classes there are.
        kind: what the inputs are, a name of :data:`~asterism.data.kinds.INPUT_KINDS`.
    """

    train_images: NDArray[Any]
    train_labels: NDArray[np.int64]
    test_images: NDArray[Any]
    test_labels: NDArray[np.int64]
    classes: int
    kind: str = "images"

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """``(H, W, C)``."""
        _, height, width, channels = self.train_images.shape
        return height, width, channels

    def swapped(self) -> Self:
        """The same, training and test images in each other's place: to search from the former."""
        return replace(
            self,
            train_images=self.test_images,
            train_labels=self.test_labels,
            test_images=self.train_images,
            test_labels=self.train_labels,
        )


#: Gives a data set.
Source = Callable[[DataParams], Dataset]

#: Sources by the name that ``data=`` takes.
SOURCES: Registry[Source] = Registry("data set", "asterism.data.sources")

_READ_A_FILE: set[Source] = set()


def reads_a_file(source: Source) -> Source:
    """Decorator of a source that reads the user's own file, ``data.path``."""
    _READ_A_FILE.add(source)
    return source


def require_no_unused_file(params: DataParams) -> None:
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
    """The images that the parameters name, see :func:`load_any`.

    Raises:
        UserError: as there; or the inputs are no images.
    """
    dataset = load_any(params)
    if dataset.kind != "images":
        raise UserError(
            f"data: {params.path} holds {dataset.kind}, and this stage works on images only; give "
            "the stages that you want: dvc repro measure_coverage"
        )
    return dataset


def load_any(params: DataParams) -> Dataset:
    """The inputs that the parameters name, of any kind, cut to the sizes that they ask for.

    Raises:
        UserError: no such data set, its files are missing, damaged or of the wrong form, or the
            user's file is not read.
    """
    with prefix_errors("data.name"):
        source = SOURCES[params.name]
    with prefix_errors("data"):
        require_no_unused_file(params)
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
