"""Sound as float32 ``(N, S)``, waveforms in [-1, 1]: mutators.

As with images, drawing the random numbers and applying them are two steps, and each row's mutant
depends on this row and its draws alone. Everything is computed row by row in float32 with
operations that give the same bits in a batch of any size: no matrix products.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.construction import configure_each
from asterism.core.parameters.registry import Registry
from asterism.core.random_streams import Draws, Randomness, Ranged

Waves = NDArray[np.float32]


class SoundMutator(Ranged, ABC):
    """Turns waveforms into mutants of the same length."""

    @abstractmethod
    def draw(self, rng: Randomness, shape: tuple[int, int], rate: int) -> Draws:
        """Everything random about mutating a batch.

        Args:
            rng: random numbers of each row.
            shape: of the batch, ``(N, S)``.
            rate: samples per second.
        """

    @abstractmethod
    def apply(self, waves: Waves, draws: Draws) -> Waves:
        """Mutants of ``waves`` (float32 ``(N, S)``), clipped to [-1, 1], never in place."""


SOUND_MUTATORS: Registry[type[SoundMutator]] = Registry("sound mutator", "asterism.sound")

#: Makes mutators: for each one's name the fields that differ from its own ranges.
build_sound_mutators = partial(configure_each, SOUND_MUTATORS)


def draw_between(rng: Randomness, rows: int, low: float, high: float) -> NDArray[np.float32]:
    """A number for each row, float32 ``(rows, 1)``."""
    return rng.uniform(low, high, size=(rows, 1)).astype(np.float32)


def within_range(waves: Waves) -> Waves:
    """The waves clipped to [-1, 1]; overwrites its argument."""
    return np.clip(waves, -1, 1, out=waves)


def wave_power(waves: Waves) -> NDArray[np.float64]:
    """Mean square of each wave, float64 ``(N, 1)``."""
    mean: NDArray[np.float64] = np.square(waves, dtype=np.float64).mean(axis=1, keepdims=True)
    return mean
