"""Transformations of grey levels: contrast and brightness (DeepTest, DeepHunter, DeepStellar)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.images.mutator import (
    MUTATORS,
    Draws,
    Images,
    Mutator,
    Randomness,
    require_range,
    to_pixels,
)


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
        require_range(self, self.low, self.high)
        if self.low < 0:
            raise ValueError(f"a contrast must not be below 0, it is {self.low}")

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``factor``: float32 ``(N,)``."""
        return {"factor": rng.uniform(self.low, self.high, size=shape[0]).astype(np.float32)}

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.mutator.Mutator`."""
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

    def __post_init__(self) -> None:
        require_range(self, self.low, self.high)

    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """``levels``: int16 ``(N,)``."""
        levels = rng.integers(self.low, self.high, size=shape[0], endpoint=True)
        return {"levels": levels.astype(np.int16)}

    def unchanged(self, draws: Draws) -> NDArray[np.bool_]:
        """See :meth:`Mutator.unchanged`."""
        same: NDArray[np.bool_] = draws["levels"] == 0
        return same

    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images``, see :class:`~asterism.images.mutator.Mutator`."""
        shifted = images + draws["levels"][:, None, None, None]
        mutants: Images = np.clip(shifted, 0, 255).astype(np.uint8)
        return mutants
