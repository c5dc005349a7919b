"""What a data set is, and the way to get one by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from asterism.core.errors import UserError, concerning
from asterism.core.registry import Registry
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


#: Sources by the name that ``data=`` takes.
SOURCES: Registry[Callable[[DataParams], Dataset]] = Registry("data set", "asterism.data.sources")


def load(params: DataParams) -> Dataset:
    """The data set that the parameters name, cut to the sizes that they ask for.

    Raises:
        UserError: no such data set, or its files are missing, damaged or of the wrong form.
    """
    with concerning("data.name"):
        source = SOURCES[params.name]
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
