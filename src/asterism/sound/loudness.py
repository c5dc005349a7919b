"""How loud a sound is: gain, and clipping by an overdriven input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asterism.core.randomness.random_streams import Draws, Randomness, require_range
from asterism.sound.mutator import (
    SOUND_MUTATORS,
    SoundMutator,
    Waves,
    drawn_between,
    within_range,
)


@SOUND_MUTATORS.register("gain")
@dataclass(frozen=True)
class Gain(SoundMutator):
    """Multiplies the wave by one factor (Dflare, section 6.1).

    Attributes:
        low: smallest gain in dB.
        high: largest gain in dB.
    """

    low: float = -12.0
    high: float = 6.0

    def __post_init__(self) -> None:
        require_range(self, self.low, self.high)

    def draw(self, rng: Randomness, shape: tuple[int, int], rate: int) -> Draws:
        """``decibels``: float32 ``(N, 1)``."""
        return {"decibels": drawn_between(rng, shape[0], self.low, self.high)}

    def apply(self, waves: Waves, draws: Draws) -> Waves:
        """See :meth:`SoundMutator.apply`."""
        factor = np.power(10.0, draws["decibels"].astype(np.float64) / 20).astype(np.float32)
        return within_range(waves * factor)


@SOUND_MUTATORS.register("clipping")
@dataclass(frozen=True)
class Clipping(SoundMutator):
    """Cuts the peaks of the wave off.

    Attributes:
        low: lowest level at which it is cut, as a share of the wave's largest value, above 0.
        high: highest level, at most 1.
    """

    low: float = 0.2
    high: float = 0.9

    def __post_init__(self) -> None:
        require_range(self, self.low, self.high)
        if not 0 < self.low <= self.high <= 1:
            raise ValueError(f"shares must lie in (0, 1], not {self.low} to {self.high}")

    def draw(self, rng: Randomness, shape: tuple[int, int], rate: int) -> Draws:
        """``share``: float32 ``(N, 1)``."""
        return {"share": drawn_between(rng, shape[0], self.low, self.high)}

    def apply(self, waves: Waves, draws: Draws) -> Waves:
        """See :meth:`SoundMutator.apply`."""
        level = draws["share"] * np.abs(waves).max(axis=1, keepdims=True)
        return within_range(np.clip(waves, -level, level))
