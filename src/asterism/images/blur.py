"""Blurs: average, Gaussian, median and bilateral (DeepTest, DeepHunter, DeepStellar, Dflare).

OpenCV filters one image at a time, and on small images its set-up costs more than its work. So all
images that drew the same kernel lie side by side in one wide image, each with a margin as wide as
the kernel reaches, filled as OpenCV itself would continue the image beyond its edge: the result is
the same as image by image, at a tenth of the time.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from asterism.images.mutator import MUTATORS, Draws, Images, Mutator, Randomness

_Filter = Callable[[NDArray[np.uint8]], Any]


@dataclass(frozen=True)
class SizedBlur(Mutator):
    """A blur whose kernel size is drawn from a list; a subclass names the filter.

    Attributes:
        sizes: sides of the square kernel to draw from, in pixels; 1 leaves the image as it is.
    """

    sizes: tuple[int, ...]
    pixel_level: ClassVar[bool] = False
    few_mutants: ClassVar[bool] = True
    #: Whether the filter has a middle pixel, so that its size must be odd.
    centred: ClassVar[bool] = True
    #: How the image goes on beyond its edge, in the words of ``numpy.pad``.
    beyond_edge: ClassVar[str] = "reflect"

    def __post_init__(self) -> None:
        if not self.sizes:
            raise ValueError("at least one kernel size is needed")
        if min(self.sizes) < 1:
            raise ValueError(f"kernel sizes must be at least 1, not {list(self.sizes)}")
        if self.centred and any(size % 2 == 0 for size in self.sizes):
            raise ValueError(f"kernel sizes must be odd, not {list(self.sizes)}")

    @abstractmethod
    def filter(self, size: int) -> _Filter:
        """The OpenCV filter for a kernel of this size."""

    def blurred(self, images: Images, size: int) -> Images:
        """The images, filtered with a kernel of this size above 1."""
        return filter_side_by_side(images, self.filter(size), size // 2, self.beyond_edge)

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``size``: int64 ``(N,)``, pixels."""
        return {"size": rng.choice(np.asarray(self.sizes, np.int64), size=shape[0])}

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.mutator.Mutator`."""
        mutants = images.copy()
        for size in self.sizes:
            chosen = np.flatnonzero(draws["size"] == size)
            if size > 1 and len(chosen):
                mutants[chosen] = self.blurred(images[chosen], size)
        return mutants


def filter_side_by_side(images: Images, run: _Filter, reach: int, beyond_edge: str) -> Images:
    """Every image filtered, all of them in one call of the filter.

    Args:
        images: uint8 ``(N, H, W, C)``.
        run: filters one image ``(H, W, C)``; no value depends on one further than ``reach`` away.
        reach: pixels on each side that a result depends on.
        beyond_edge: how an image goes on beyond its edge, a mode of ``numpy.pad``.
    """
    count, height, width, channels = images.shape
    tall, wide = height + 2 * reach, width + 2 * reach
    rows, columns = _extended(height, reach, beyond_edge), _extended(width, reach, beyond_edge)
    strip = images.take(columns, axis=2).transpose(1, 0, 2, 3).take(rows, axis=0)
    filtered = run(strip.reshape(tall, count * wide, channels)).reshape(strip.shape)
    inner = filtered[reach : reach + height, :, reach : reach + width]
    return np.ascontiguousarray(inner.transpose(1, 0, 2, 3))


def filter_one_by_one(images: Images, run: _Filter) -> Images:
    """Every image filtered by a call of its own; arguments as above."""
    filtered = np.empty_like(images)
    for image, result in zip(images, filtered, strict=True):
        result[:] = run(image).reshape(image.shape)
    return filtered


@functools.cache
def _extended(size: int, reach: int, beyond_edge: str) -> NDArray[np.int64]:
    """Positions along an axis, going on beyond both ends."""
    positions: NDArray[np.int64] = np.pad(np.arange(size), reach, mode=beyond_edge)  # type: ignore[call-overload]
    return positions


@MUTATORS.register("average_blur")
@dataclass(frozen=True)
class AverageBlur(SizedBlur):
    """Replaces a value by the mean of the square around it."""

    sizes: tuple[int, ...] = (3, 4, 5)
    centred: ClassVar[bool] = False

    def filter(self, size: int) -> _Filter:
        """See :meth:`SizedBlur.filter`."""
        return lambda image: cv2.blur(image, (size, size))


@MUTATORS.register("gaussian_blur")
@dataclass(frozen=True)
class GaussianBlur(SizedBlur):
    """Replaces a value by a Gaussian-weighted mean; the deviation follows from the size."""

    sizes: tuple[int, ...] = (3, 5, 7)

    def filter(self, size: int) -> _Filter:
        """See :meth:`SizedBlur.filter`."""
        return lambda image: cv2.GaussianBlur(image, (size, size), 0)


@MUTATORS.register("median_blur")
@dataclass(frozen=True)
class MedianBlur(SizedBlur):
    """Replaces a value by the median of the square around it."""

    sizes: tuple[int, ...] = (3, 5)
    beyond_edge: ClassVar[str] = "edge"

    def filter(self, size: int) -> _Filter:
        """See :meth:`SizedBlur.filter`."""
        return lambda image: cv2.medianBlur(image, size)

    def blurred(self, images: Images, size: int) -> Images:
        """See :meth:`SizedBlur.blurred`."""
        if size <= 5:
            return super().blurred(images, size)
        # OpenCV counts the values of larger squares pixel by pixel: margins would only cost time.
        return filter_one_by_one(images, self.filter(size))


@MUTATORS.register("bilateral_blur")
@dataclass(frozen=True)
class BilateralBlur(Mutator):
    """Smooths areas and keeps edges: a mean weighted by closeness in place and in value.

    It draws nothing. Images must have 1 or 3 channels.

    Attributes:
        diameter: of the neighbourhood, in pixels; odd.
        color_deviation: deviation of the weight by value, in grey levels.
        space_deviation: deviation of the weight by place, in pixels.
    """

    diameter: int = 9
    color_deviation: float = 75.0
    space_deviation: float = 75.0
    pixel_level: ClassVar[bool] = False
    few_mutants: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.diameter < 1 or self.diameter % 2 == 0:
            raise ValueError(f"the diameter must be odd and at least 1, not {self.diameter}")

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """Nothing."""
        return {}

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.mutator.Mutator`."""
        # Image by image: side by side would save little time, and OpenCV's rounding here depends
        # on a value's column.
        return filter_one_by_one(
            images,
            lambda image: cv2.bilateralFilter(
                image, self.diameter, self.color_deviation, self.space_deviation
            ),
        )
