"""Geometric transformations: translation, scale, shear and rotation about the image's centre.

They are what DeepTest (Tian et al., ICSE 2018), DeepHunter (Xie et al., ISSTA 2019) and
DeepStellar (Du et al., ESEC/FSE 2019) mutate images with. All are affine, sampled bilinearly, with
black where the transformed image shows what lay outside the original; only their matrices differ.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from asterism.core.random_streams import Draws, Randomness
from asterism.images import MUTATORS, Images, Mutator

#: Images whose coordinates are computed together: so many stay in a processor's cache.
_CHUNK = 64

#: Rows of images that are stacked, and columns of a map; OpenCV can address fewer than 32,767.
_ROWS = 32_000

#: OpenCV samples at multiples of 1/32 pixel. Coordinates are rounded to them before an image's
#: place in the stack is added, so that rounding, and so the mutant, does not depend on that place.
_PARTS = np.float32(32)


class AffineMutator(Mutator):
    """A transformation given by a 2×2 matrix and an offset; a subclass draws and writes them."""

    pixel_level: ClassVar[bool] = False

    @abstractmethod
    def sampling(self, draws: Draws) -> NDArray[np.float32]:
        """Where a mutant's pixels come from: float32 ``(N, 2, 3)``.

        A row ``(a, b, c)`` gives a source coordinate ``a·x + b·y + c`` in pixels from the image's
        centre, the first row x (to the right) and the second row y (downwards).
        """

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.Mutator`."""
        matrices = self.sampling(draws)
        mutants = np.empty_like(images)
        size = max(1, min(_CHUNK, _ROWS // (images.shape[1] + 2)))
        for start in range(0, len(images), size):
            chunk = slice(start, start + size)
            mutants[chunk] = warp(images[chunk], matrices[chunk])
        return mutants


def warp(images: Images, sampling: NDArray[np.float32]) -> Images:
    """Images sampled bilinearly where affine maps point, one map for each image.

    The whole batch is one call: the images lie below each other, each within a black frame one
    pixel wide, and coordinates outside an image are moved onto its frame.

    Args:
        images: uint8 ``(N, H, W, C)``, C at most 4 and N·(H + 2) below 32,768.
        sampling: float32 ``(N, 2, 3)``, as :meth:`AffineMutator.sampling` gives it.
    """
    count, height, width, channels = images.shape
    framed = np.zeros((count, height + 2, width + 2, channels), np.uint8)
    framed[:, 1:-1, 1:-1] = images
    down, right = np.divmod(np.arange(height * width, dtype=np.float32), np.float32(width))
    right -= np.float32((width - 1) / 2)
    down -= np.float32((height - 1) / 2)
    source_x = _coordinates(sampling[:, 0], right, down, size=width)
    source_y = _coordinates(sampling[:, 1], right, down, size=height)
    source_y += (np.arange(count, dtype=np.float32) * np.float32(height + 2))[:, None]
    if height * width > _ROWS:
        source_x, source_y = (source.reshape(-1, width) for source in (source_x, source_y))
    warped = cv2.remap(
        framed.reshape(count * (height + 2), width + 2, channels),
        source_x,
        source_y,
        cv2.INTER_LINEAR,
    )
    mutants: Images = warped.reshape(images.shape)
    return mutants


def _coordinates(
    rows: NDArray[np.float32], right: NDArray[np.float32], down: NDArray[np.float32], size: int
) -> NDArray[np.float32]:
    """Coordinates ``(N, H·W)`` along one axis within the framed image, clipped to the frame."""
    rows = rows * _PARTS
    centre = _PARTS * np.float32((size - 1) / 2 + 1)
    coordinates: NDArray[np.float32] = rows[:, :1] * right
    coordinates += rows[:, 1:2] * down
    coordinates += rows[:, 2:] + centre
    np.rint(coordinates, out=coordinates)
    np.clip(coordinates, np.float32(0), _PARTS * np.float32(size + 1), out=coordinates)
    coordinates /= _PARTS
    return coordinates


def _identity(count: int) -> NDArray[np.float32]:
    matrices = np.zeros((count, 2, 3), np.float32)
    matrices[:, 0, 0] = matrices[:, 1, 1] = 1
    return matrices


@MUTATORS.register("translation")
@dataclass(frozen=True)
class Translation(AffineMutator):
    """Moves the image by whole pixels, to the right and downwards, each drawn on its own.

    Attributes:
        low: smallest offset in pixels.
        high: largest offset in pixels.
    """

    low: int = -3
    high: int = 2
    few_mutants: ClassVar[bool] = True

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``right`` and ``down``: int64 ``(N,)``, pixels."""
        offsets = rng.integers(self.low, self.high, size=(shape[0], 2), endpoint=True)
        return {"right": offsets[:, 0], "down": offsets[:, 1]}

    def unchanged(self, draws: Draws) -> NDArray[np.bool_]:
        """See :meth:`Mutator.unchanged`."""
        same: NDArray[np.bool_] = (draws["right"] == 0) & (draws["down"] == 0)
        return same

    def sampling(self, draws: Draws) -> NDArray[np.float32]:
        """See :meth:`AffineMutator.sampling`."""
        matrices = _identity(len(draws["right"]))
        matrices[:, 0, 2] = -draws["right"]
        matrices[:, 1, 2] = -draws["down"]
        return matrices


@MUTATORS.register("scale")
@dataclass(frozen=True)
class Scale(AffineMutator):
    """Shrinks or grows the image about its centre.

    Attributes:
        low: smallest factor, above 0; below 1 shrinks.
        high: largest factor.
    """

    low: float = 0.8
    high: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low <= 0:
            raise ValueError(f"a scale must be above 0, not {self.low}")

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``factor``: float64 ``(N,)``."""
        return {"factor": rng.uniform(self.low, self.high, size=shape[0])}

    def sampling(self, draws: Draws) -> NDArray[np.float32]:
        """See :meth:`AffineMutator.sampling`."""
        matrices = _identity(len(draws["factor"]))
        matrices[:, 0, 0] = matrices[:, 1, 1] = 1 / draws["factor"]
        return matrices


@MUTATORS.register("shear")
@dataclass(frozen=True)
class Shear(AffineMutator):
    """Shifts each row sideways in proportion to its distance from the middle row.

    Attributes:
        low: smallest factor, in pixels to the right for each pixel downwards.
        high: largest factor.
    """

    low: float = -0.5
    high: float = 0.4

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``factor``: float64 ``(N,)``."""
        return {"factor": rng.uniform(self.low, self.high, size=shape[0])}

    def sampling(self, draws: Draws) -> NDArray[np.float32]:
        """See :meth:`AffineMutator.sampling`."""
        matrices = _identity(len(draws["factor"]))
        matrices[:, 0, 1] = -draws["factor"]
        return matrices


@MUTATORS.register("rotation")
@dataclass(frozen=True)
class Rotation(AffineMutator):
    """Turns the image about its centre by whole degrees.

    Attributes:
        low: smallest angle in degrees; above 0 turns counter-clockwise.
        high: largest angle in degrees.
    """

    low: int = -30
    high: int = 29
    few_mutants: ClassVar[bool] = True

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``degrees``: int64 ``(N,)``."""
        return {"degrees": rng.integers(self.low, self.high, size=shape[0], endpoint=True)}

    def unchanged(self, draws: Draws) -> NDArray[np.bool_]:
        """See :meth:`Mutator.unchanged`."""
        same: NDArray[np.bool_] = draws["degrees"] == 0
        return same

    def sampling(self, draws: Draws) -> NDArray[np.float32]:
        """See :meth:`AffineMutator.sampling`."""
        angles = np.radians(draws["degrees"].astype(np.float64))
        matrices = np.zeros((len(angles), 2, 3), np.float32)
        matrices[:, 0, 0] = matrices[:, 1, 1] = np.cos(angles)
        matrices[:, 0, 1] = -np.sin(angles)
        matrices[:, 1, 0] = np.sin(angles)
        return matrices
