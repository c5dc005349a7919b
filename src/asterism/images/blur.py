"""Blurs: average, Gaussian, median and bilateral (DeepTest, DeepHunter, DeepStellar, Dflare).

OpenCV filters one image at a time, and on small images its set-up costs more than its work. So all
images of a batch lie side by side in one wide strip, those that drew the same kernel next to each
other. Each has a margin as wide as the largest kernel reaches, filled as OpenCV itself would
continue the image beyond its edge: the result is the same as image by image, at a tenth of the
time.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from asterism.core.random_streams import Draws, Randomness
from asterism.images import MUTATORS, Images, Mutator

#: Values of a row from which on OpenCV filters it by vector instructions, up to 25 times as fast:
#: 64 that go into a register of AVX-512, and the margins.
_VECTOR = 72
#: Filters one image ``(H, W, C)`` into another of its shape.
_Filter = Callable[[Any, Any], Any]
Rows = NDArray[np.int64]


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
    #: The largest kernel for which images are worth laying side by side.
    largest_in_strip: ClassVar[float] = float("inf")

    def __post_init__(self) -> None:
        if not self.sizes:
            raise ValueError("at least one kernel size is needed")
        if min(self.sizes) < 1:
            raise ValueError(f"kernel sizes must be at least 1, not {list(self.sizes)}")
        if self.centred and any(size % 2 == 0 for size in self.sizes):
            raise ValueError(f"kernel sizes must be odd, not {list(self.sizes)}")

    @abstractmethod
    def filter(self, size: int) -> _Filter:
        """The OpenCV filter for a kernel of this size above 1."""

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``size``: int64 ``(N,)``, pixels."""
        return {"size": rng.choice(_integers(self.sizes), size=shape[0])}

    def unchanged(self, draws: Draws) -> NDArray[np.bool_]:
        """See :meth:`Mutator.unchanged`."""
        same: NDArray[np.bool_] = draws["size"] == 1
        return same

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.Mutator`."""
        mutants, in_strip = images.copy(), {}
        for size in self.sizes:
            (rows,) = (draws["size"] == size).nonzero()
            if size > self.largest_in_strip:
                filter_one_by_one(images, rows, self.filter(size), mutants)
            elif size > 1 and len(rows):
                in_strip[size] = rows
        if in_strip:
            filter_side_by_side(images, in_strip, self.filter, self.beyond_edge, mutants)
        return mutants


def filter_side_by_side(
    images: Images,
    by_size: Mapping[int, Rows],
    filter_of: Callable[[int], _Filter],
    beyond_edge: str,
    mutants: Images,
) -> None:
    """Filter images, all that have the same kernel in one call of the filter.

    Args:
        images: uint8 ``(N, H, W, C)``.
        by_size: the images for each kernel's size, int64 ``(n,)``.
        filter_of: gives the filter of a size; no value that it makes depends on one further than
            half of the size away.
        beyond_edge: how an image goes on beyond its edge, a mode of ``numpy.pad``.
        mutants: uint8 ``(N, H, W, C)``, where the results are put.

    A strip of few images has some of them twice, so that it is wide enough for vector instructions.
    """
    _, height, width, channels = images.shape
    reach = max(by_size) // 2
    rows, columns = _extended(height, reach, beyond_edge), _extended(width, reach, beyond_edge)
    least = -(-_VECTOR // (len(columns) * channels))
    by_size = {z: np.resize(r, least) if len(r) < least else r for z, r in by_size.items()}
    chosen = np.concatenate(list(by_size.values()))
    strip = images.take(chosen, axis=0).take(columns, axis=2).transpose(1, 0, 2, 3)
    strip = strip.take(rows, axis=0).reshape(len(rows), -1, channels)
    filtered, end = np.empty_like(strip), 0
    for size, own in by_size.items():
        start, end = end, end + len(own) * len(columns)
        filter_of(size)(strip[:, start:end], filtered[:, start:end])
    inner = filtered.reshape(len(rows), len(chosen), len(columns), channels)
    inner = inner[reach : reach + height, :, reach : reach + width]
    mutants[chosen] = inner.transpose(1, 0, 2, 3)


def filter_one_by_one(images: Images, rows: Rows, run: _Filter, mutants: Images) -> None:
    """Filter these images, each by a call of its own; arguments as above."""
    for row in rows.tolist():
        run(images[row], mutants[row])


@functools.cache
def _integers(values: tuple[int, ...]) -> Rows:
    return np.array(values, np.int64)


@functools.cache
def _extended(size: int, reach: int, beyond_edge: str) -> Rows:
    """Positions along an axis, going on beyond both ends."""
    positions: Rows = np.pad(np.arange(size), reach, mode=beyond_edge)  # type: ignore[call-overload]
    return positions


@MUTATORS.register("average_blur")
@dataclass(frozen=True)
class AverageBlur(SizedBlur):
    """Replaces a value by the mean of the square around it."""

    sizes: tuple[int, ...] = (3, 4, 5)
    centred: ClassVar[bool] = False

    def filter(self, size: int) -> _Filter:
        """See :meth:`SizedBlur.filter`."""
        return lambda image, out: cv2.blur(image, (size, size), dst=out)


@MUTATORS.register("gaussian_blur")
@dataclass(frozen=True)
class GaussianBlur(SizedBlur):
    """Replaces a value by a Gaussian-weighted mean; the deviation follows from the size."""

    sizes: tuple[int, ...] = (3, 5, 7)

    def filter(self, size: int) -> _Filter:
        """See :meth:`SizedBlur.filter`."""
        return lambda image, out: cv2.GaussianBlur(image, (size, size), 0, dst=out)


@MUTATORS.register("median_blur")
@dataclass(frozen=True)
class MedianBlur(SizedBlur):
    """Replaces a value by the median of the square around it."""

    sizes: tuple[int, ...] = (3, 5)
    beyond_edge: ClassVar[str] = "edge"
    #: OpenCV counts the values of larger squares pixel by pixel: margins would only cost time.
    largest_in_strip: ClassVar[float] = 5

    def filter(self, size: int) -> _Filter:
        """See :meth:`SizedBlur.filter`."""
        return lambda image, out: cv2.medianBlur(image, size, dst=out)


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
        """Mutants of ``images``, see :class:`~asterism.images.Mutator`."""
        # Image by image: side by side would save little time, and OpenCV's rounding here depends
        # on a value's column.
        mutants = np.empty_like(images)
        filter_one_by_one(images, np.arange(len(images)), self._filter, mutants)
        return mutants

    def _filter(self, image: Any, out: Any) -> Any:
        return cv2.bilateralFilter(
            image, self.diameter, self.color_deviation, self.space_deviation, dst=out
        )
