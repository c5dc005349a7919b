"""What an image mutator is.

Drawing the random numbers and applying them are two steps. So one set of draws can be applied to
two batches (an image and its reference), draws of many items with streams of their own can be put
together and applied as one batch, and ``apply`` is a plain function that tests can check.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.construction import configure_each
from asterism.core.parameters.registry import Registry
from asterism.core.random_streams import Draws, Randomness, Ranged

# The images are small and come by the thousand: OpenCV's own threads cost more than they bring,
# and the callers have threads of theirs.
cv2.setNumThreads(1)

__all__ = [
    "MUTATORS",
    "Draws",
    "Images",
    "Mutator",
    "Randomness",
    "build_mutators",
    "concatenate_draws",
    "take_draws",
    "to_pixels",
    "wrapped",
]

Images = NDArray[np.uint8]


class Mutator(Ranged, ABC):
    """Turns images into mutants of the same shape and dtype."""

    #: Whether the mutant differs from the image by pixel changes or noise, so that distances to
    #: the original mean something; not so where the whole picture is transformed or toned.
    pixel_level: ClassVar[bool]
    #: Whether an image has so few mutants by it that a search comes to the same ones again.
    few_mutants: ClassVar[bool] = False

    def misfit(self, shape: tuple[int, int, int]) -> str:
        """Which option images of this shape ``(H, W, C)`` are too small for; empty where none."""
        return ""

    def unchanged(self, draws: Draws) -> NDArray[np.bool_]:
        """Which images these draws surely leave as they are, bool ``(N,)`` or one for all.

        A mutator of few mutants should tell; here it is told of none.
        """
        return np.zeros((), np.bool_)

    @abstractmethod
    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """Everything random about mutating a batch of this shape ``(N, H, W, C)``."""

    @abstractmethod
    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images`` (uint8, ``(N, H, W, C)``), clipped to [0, 255], never in place."""


MUTATORS: Registry[type[Mutator]] = Registry("mutator", "asterism.images")

#: Makes mutators: for each one's name the fields that differ from its own ranges.
build_mutators = partial(configure_each, MUTATORS)


def concatenate_draws(draws: Sequence[Draws]) -> Draws:
    """Draws of several batches as those of one: what items with streams of their own need."""
    return {name: np.concatenate([d[name] for d in draws]) for name in draws[0]}


def take_draws(draws: Draws, rows: NDArray[np.integer | np.bool_]) -> Draws:
    """The draws of some images of a batch, by index or mask."""
    return {name: values[rows] for name, values in draws.items()}


def to_pixels(values: NDArray[Any]) -> Images:
    """Grey levels in float, rounded and clipped to uint8; overwrites its argument."""
    np.rint(values, out=values)
    np.clip(values, 0, 255, out=values)
    return values.astype(np.uint8)


def wrapped(values: NDArray[Any]) -> Images:
    """Grey levels in float as uint8: the whole part modulo 256."""
    return values.astype(np.int64).astype(np.uint8)
