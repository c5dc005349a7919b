"""Noise on every value: Gaussian, multiplicative, salt-and-pepper.

Noise is added in float32 and clipped to [0, 255]. With ``wrap`` it is cast to uint8 without
clipping, as the released tools do it: 250 + 10 becomes 4, and faint noise turns into dots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from asterism.core.randomness.random_streams import LEVELS, standard_normal, uniform_levels
from asterism.images.mutator import (
    MUTATORS,
    Draws,
    Images,
    Mutator,
    Randomness,
    require_range,
    to_pixels,
    wrapped,
)


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

    def __post_init__(self) -> None:
        require_range(self, self.low, self.high)

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``noise``: float32 ``(N, H, W, C)``, grey levels."""
        deviation = rng.uniform(self.low, self.high, size=(shape[0], 1, 1, 1)).astype(np.float32)
        noise = standard_normal(rng, shape)
        noise *= deviation
        return {"noise": noise}

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.mutator.Mutator`."""
        noisy = images + draws["noise"]
        return wrapped(noisy) if self.wrap else to_pixels(noisy)


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

    def __post_init__(self) -> None:
        require_range(self, self.low, self.high)
        require_range(self, self.mean_low, self.mean_high)

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``factors``: float32 ``(N, H, W, C)``."""
        each = (shape[0], 1, 1, 1)
        deviation = rng.uniform(self.low, self.high, size=each).astype(np.float32)
        factors = standard_normal(rng, shape)
        factors *= deviation
        if self.mean_low == self.mean_high:  # one mean takes no random number
            factors += np.float32(self.mean_low)
        else:
            mean = rng.uniform(self.mean_low, self.mean_high, size=each)
            factors += mean.astype(np.float32)
        return {"factors": factors}

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.mutator.Mutator`."""
        scaled = images * draws["factors"]
        return wrapped(scaled) if self.wrap else to_pixels(scaled)


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
        require_range(self, self.low, self.high)
        if not 0 <= self.low <= self.high <= 1:
            raise ValueError(f"shares must lie in [0, 1], not {self.low} to {self.high}")

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``salt`` and ``pepper``: bool ``(N, H, W, C)``."""
        share = rng.uniform(self.low, self.high, size=(shape[0], 1, 1, 1))
        # At most half of the levels: uint16 holds them, as it holds the drawn ones.
        half = np.rint(share / 2 * LEVELS).astype(np.uint16)
        level = uniform_levels(rng, shape)
        return {"salt": level < half, "pepper": level > LEVELS - 1 - half}

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.mutator.Mutator`."""
        mutants: Images = np.negative(draws["salt"].astype(np.uint8))  # 0 or 255
        mutants |= images
        mutants &= draws["pepper"].astype(np.uint8) - np.uint8(1)  # 255 or 0
        return mutants
