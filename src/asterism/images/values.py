"""Changes of grey levels: noise, contrast and brightness, single pixels.

They are those of DeepTest, DeepHunter, DeepStellar and Dflare. Noise is added in float32 and
clipped to [0, 255]. With ``wrap`` it is cast to uint8 without clipping, as the released tools do
it: 250 + 10 becomes 4, and faint noise turns into dots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.random_streams import (
    LEVELS,
    Draws,
    Randomness,
    draw_distinct_integers,
    draw_standard_normal,
    draw_uniform_levels,
)
from asterism.images import MUTATORS, Images, Mutator, to_pixels, wrap_levels


@MUTATORS.register("gaussian_noise")
@dataclass(frozen=True)
class GaussianNoise(Mutator):
    """Adds normal noise of mean 0, with one deviation for each image.

    Attributes:
        low: smallest standard deviation, in grey levels of 0 to 255.
        high: largest standard deviation.
        wrap: whether values beyond [0, 255] wrap around instead of being clipped.
    """

    low: float = 1.0
    high: float = 25.0
    wrap: bool = False
    pixel_level: ClassVar[bool] = True

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``noise``: float32 ``(N, H, W, C)``, grey levels."""
        deviation = rng.uniform(self.low, self.high, size=(shape[0], 1, 1, 1)).astype(np.float32)
        noise = draw_standard_normal(rng, shape)
        noise *= deviation
        return {"noise": noise}

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.Mutator`."""
        noisy = images + draws["noise"]
        return wrap_levels(noisy) if self.wrap else to_pixels(noisy)


@MUTATORS.register("multiplicative_noise")
@dataclass(frozen=True)
class MultiplicativeNoise(Mutator):
    """Multiplies every value by normal noise, with one mean and one deviation for each image.

    Attributes:
        low: smallest standard deviation of the factor.
        high: largest standard deviation of the factor.
        mean_low: smallest mean of the factor.
        mean_high: largest mean of the factor.
        wrap: whether values beyond [0, 255] wrap around instead of being clipped.
    """

    low: float = 0.02
    high: float = 0.12
    mean_low: float = 1.0
    mean_high: float = 1.0
    wrap: bool = False
    pixel_level: ClassVar[bool] = True

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``factors``: float32 ``(N, H, W, C)``."""
        each = (shape[0], 1, 1, 1)
        deviation = rng.uniform(self.low, self.high, size=each).astype(np.float32)
        factors = draw_standard_normal(rng, shape)
        factors *= deviation
        if self.mean_low == self.mean_high:  # one mean takes no random number
            factors += np.float32(self.mean_low)
        else:
            mean = rng.uniform(self.mean_low, self.mean_high, size=each)
            factors += mean.astype(np.float32)
        return {"factors": factors}

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.Mutator`."""
        scaled = images * draws["factors"]
        return wrap_levels(scaled) if self.wrap else to_pixels(scaled)


@MUTATORS.register("salt_and_pepper_noise")
@dataclass(frozen=True)
class SaltAndPepperNoise(Mutator):
    """Sets a share of the values to white or black, both equally often.

    Attributes:
        low: smallest expected share of the values, at least 0.
        high: largest expected share, at most 1.
    """

    low: float = 0.004
    high: float = 0.02
    pixel_level: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.low <= self.high <= 1:
            raise ValueError(f"shares must lie in [0, 1], not {self.low} to {self.high}")

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``salt`` and ``pepper``: bool ``(N, H, W, C)``."""
        share = rng.uniform(self.low, self.high, size=(shape[0], 1, 1, 1))
        # At most half of the levels: uint16 holds them, as it holds the drawn ones.
        half = np.rint(share / 2 * LEVELS).astype(np.uint16)
        level = draw_uniform_levels(rng, shape)
        return {"salt": level < half, "pepper": level > LEVELS - 1 - half}

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.Mutator`."""
        mutants: Images = np.negative(draws["salt"].astype(np.uint8))  # 0 or 255
        mutants |= images
        mutants &= draws["pepper"].astype(np.uint8) - np.uint8(1)  # 255 or 0
        return mutants


@MUTATORS.register("contrast")
@dataclass(frozen=True)
class Contrast(Mutator):
    """Multiplies every value by one factor.

    Attributes:
        low: smallest factor, at least 0.
        high: largest factor.
    """

    low: float = 0.6
    high: float = 1.1
    pixel_level: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low < 0:
            raise ValueError(f"a contrast must not be below 0, it is {self.low}")

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``factor``: float32 ``(N,)``."""
        return {"factor": rng.uniform(self.low, self.high, size=shape[0]).astype(np.float32)}

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.Mutator`."""
        return to_pixels(images * draws["factor"][:, None, None, None])


@MUTATORS.register("brightness")
@dataclass(frozen=True)
class Brightness(Mutator):
    """Adds one number of grey levels to every value.

    Attributes:
        low: smallest change, in grey levels of 0 to 255.
        high: largest change.
    """

    low: int = -20
    high: int = 19
    few_mutants: ClassVar[bool] = True
    pixel_level: ClassVar[bool] = False

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``levels``: int16 ``(N,)``."""
        levels = rng.integers(self.low, self.high, size=shape[0], endpoint=True)
        return {"levels": levels.astype(np.int16)}

    def unchanged(self, draws: Draws) -> NDArray[np.bool_]:
        """See :meth:`Mutator.unchanged`."""
        same: NDArray[np.bool_] = draws["levels"] == 0
        return same

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.Mutator`."""
        shifted = images + draws["levels"][:, None, None, None]
        return np.clip(shifted, 0, 255).astype(np.uint8)


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
        super().__post_init__()
        if self.low < 1:
            raise ValueError(f"at least 1 pixel must change, not {self.low}")

    def misfit(self, shape: tuple[int, int, int]) -> str:
        """See :meth:`~asterism.images.Mutator.misfit`."""
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
        """Mutants of ``images``, see :class:`~asterism.images.Mutator`."""
        number, height, width, channels = images.shape
        mutants = images.copy()
        pixels = mutants.reshape(number, height * width, channels)
        image, draw = np.nonzero(np.arange(draws["positions"].shape[1]) < draws["count"][:, None])
        pixels[image, draws["positions"][image, draw]] = draws["values"][image, draw]
        return mutants


def _distinct(rng: Randomness, rows: int, size: int, below: int) -> NDArray[np.int64]:
    """``size`` distinct integers below ``below`` in each row, every order equally likely."""
    if size * size > below:
        return draw_distinct_integers(rng, rows, size, below)
    # Each is drawn from those that the row has left: its number among them, then itself.
    drawn = rng.integers(0, below - np.arange(size), size=(rows, size))
    for column in range(1, size):
        earlier = np.sort(drawn[:, :column], axis=1)
        for taken in earlier.T:
            drawn[:, column] += drawn[:, column] >= taken
    return drawn
