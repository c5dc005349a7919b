"""Changing single pixels (DeepHunter, DeepStellar, Dflare)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.images.mutator import MUTATORS, Draws, Images, Mutator, require_range


@MUTATORS.register("pixel_change")
@dataclass(frozen=True)
class PixelChange(Mutator):
    """Gives a few pixels, drawn without replacement, random values in all their channels.

    Attributes:
        low: smallest number of pixels, at least 1.
        high: largest number of pixels.
    """

    low: int = 1
    high: int = 9
    pixel_level: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_range(self, self.low, self.high)
        if self.low < 1:
            raise ValueError(f"at least 1 pixel must change, not {self.low}")

    def draw(self, rng: np.random.Generator, shape: tuple[int, int, int, int]) -> Draws:
        """How many pixels change, which, and to what values.

        Returns:
            ``count``: int64 ``(N,)``; ``positions``: int64 ``(N, high)``, distinct in each row;
            ``values``: uint8 ``(N, high, C)``.
        """
        number, height, width, channels = shape
        if height * width < self.high:
            raise ValueError(f"an image of {height}×{width} has fewer than {self.high} pixels")
        return {
            "count": rng.integers(self.low, self.high, size=number, endpoint=True),
            "positions": _distinct(rng, number, self.high, height * width),
            "values": rng.integers(0, 256, size=(number, self.high, channels), dtype=np.uint8),
        }

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.mutator.Mutator`."""
        number, height, width, channels = images.shape
        mutants = images.copy()
        pixels = mutants.reshape(number, height * width, channels)
        image, draw = np.nonzero(np.arange(self.high) < draws["count"][:, None])
        pixels[image, draws["positions"][image, draw]] = draws["values"][image, draw]
        return mutants


def _distinct(rng: np.random.Generator, rows: int, size: int, below: int) -> NDArray[np.int64]:
    """``size`` distinct integers below ``below`` in each row: Floyd's algorithm on all rows.

    It gives a uniform *set*, whose later members lean to large numbers. Every prefix must be
    uniform here, because only the first ``count`` positions are used, so each row is shuffled.
    """
    chosen = np.empty((rows, size), np.int64)
    for k in range(size):
        top = below - size + k
        candidate = rng.integers(0, top, size=rows, endpoint=True)
        taken = (chosen[:, :k] == candidate[:, None]).any(axis=1)
        chosen[:, k] = np.where(taken, top, candidate)
    return rng.permuted(chosen, axis=1)
