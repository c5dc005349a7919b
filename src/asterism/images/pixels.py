"""Changing single pixels (DeepHunter, DeepStellar, Dflare)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.randomness.random_streams import distinct_integers
from asterism.images.mutator import MUTATORS, Draws, Images, Mutator, Randomness, require_range


@MUTATORS.register("pixel_change")
@dataclass(frozen=True)
class PixelChange(Mutator):
    """Gives a few pixels, drawn without replacement, random values in all their channels.

    Attributes:
        low: smallest number of pixels, at least 1.
        high: largest number of pixels; all of them where an image has fewer.
    """

    low: int = 1
    high: int = 9
    pixel_level: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_range(self, self.low, self.high)
        if self.low < 1:
            raise ValueError(f"at least 1 pixel must change, not {self.low}")

    def misfit(self, shape: tuple[int, int, int]) -> str:
        """See :meth:`~asterism.images.mutator.Mutator.misfit`."""
        height, width, _ = shape
        if height * width >= self.low:
            return ""
        return f"low is {self.low}, but an image of {height}×{width} has fewer pixels"

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """How many pixels change, which, and to what values.

        Returns:
            ``count``: int64 ``(N,)``; ``positions``: int64 ``(N, most)``, distinct in each row;
            ``values``: uint8 ``(N, most, C)``.
        """
        number, height, width, channels = shape
        if reason := self.misfit((height, width, channels)):
            raise ValueError(reason)
        most = min(self.high, height * width)
        return {
            "count": rng.integers(self.low, most, size=number, endpoint=True),
            "positions": _distinct(rng, number, most, height * width),
            "values": rng.integers(0, 256, size=(number, most, channels), dtype=np.uint8),
        }

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.mutator.Mutator`."""
        number, height, width, channels = images.shape
        mutants = images.copy()
        pixels = mutants.reshape(number, height * width, channels)
        image, draw = np.nonzero(np.arange(draws["positions"].shape[1]) < draws["count"][:, None])
        pixels[image, draws["positions"][image, draw]] = draws["values"][image, draw]
        return mutants


def _distinct(rng: Randomness, rows: int, size: int, below: int) -> NDArray[np.int64]:
    """``size`` distinct integers below ``below`` in each row, every order equally likely."""
    if size * size > below:
        return distinct_integers(rng, rows, size, below)
    # Each is drawn from those that the row has left: its number among them, then itself.
    drawn = rng.integers(0, below - np.arange(size), size=(rows, size))
    for column in range(1, size):
        earlier = np.sort(drawn[:, :column], axis=1)
        for taken in earlier.T:
            drawn[:, column] += drawn[:, column] >= taken
    return drawn
