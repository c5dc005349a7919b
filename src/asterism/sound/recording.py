"""How a sound is recorded: gain, clipping, background noise, and the echoes of a room."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asterism.core.random_streams import (
    Draws,
    Randomness,
    draw_standard_normal,
)
from asterism.sound import (
    SOUND_MUTATORS,
    SoundMutator,
    Waves,
    draw_between,
    wave_power,
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

    def draw(self, rng: Randomness, shape: tuple[int, int], rate: int) -> Draws:
        """``decibels``: float32 ``(N, 1)``."""
        return {"decibels": draw_between(rng, shape[0], self.low, self.high)}

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
        super().__post_init__()
        if not 0 < self.low <= self.high <= 1:
            raise ValueError(f"shares must lie in (0, 1], not {self.low} to {self.high}")

    def draw(self, rng: Randomness, shape: tuple[int, int], rate: int) -> Draws:
        """``share``: float32 ``(N, 1)``."""
        return {"share": draw_between(rng, shape[0], self.low, self.high)}

    def apply(self, waves: Waves, draws: Draws) -> Waves:
        """See :meth:`SoundMutator.apply`."""
        level = draws["share"] * np.abs(waves).max(axis=1, keepdims=True)
        return within_range(np.clip(waves, -level, level))


#: Power of a wave below which it counts as silence, that of 16-bit quantisation noise.
_SILENCE = 1e-10


@SOUND_MUTATORS.register("noise")
@dataclass(frozen=True)
class WaveNoise(SoundMutator):
    """Adds white noise.

    Attributes:
        low: smallest signal-to-noise ratio in dB.
        high: largest signal-to-noise ratio in dB.
    """

    low: float = 5.0
    high: float = 40.0

    def draw(self, rng: Randomness, shape: tuple[int, int], rate: int) -> Draws:
        """``ratio``: float32 ``(N, 1)``, dB; ``noise``: float32 ``(N, S)``, of power 1."""
        ratio = draw_between(rng, shape[0], self.low, self.high)
        return {"ratio": ratio, "noise": draw_standard_normal(rng, shape)}

    def apply(self, waves: Waves, draws: Draws) -> Waves:
        """See :meth:`SoundMutator.apply`."""
        wanted = np.maximum(wave_power(waves), _SILENCE) / np.power(10.0, draws["ratio"] / 10.0)
        return within_range(waves + np.sqrt(wanted).astype(np.float32) * draws["noise"])


@SOUND_MUTATORS.register("room")
@dataclass(frozen=True)
class RoomReverberation(SoundMutator):
    """Convolves with the impulse response of a synthetic room.

    The response is the direct sound, and after it noise that decays exponentially, by 60 dB in
    the reverberation time (Moorer, Computer Music Journal 1979).

    Attributes:
        low: shortest reverberation time in seconds, above 0.
        high: longest reverberation time in seconds.
        echo_low: smallest energy of the echoes as a share of the direct sound's, at least 0.
        echo_high: largest share.
    """

    low: float = 0.1
    high: float = 0.5
    echo_low: float = 0.05
    echo_high: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low <= 0 or self.echo_low < 0:
            raise ValueError("a reverberation time must be above 0, and an energy not below 0")

    def draw(self, rng: Randomness, shape: tuple[int, int], rate: int) -> Draws:
        """``response``: float32 ``(N, R)``, its first entry, the direct sound, is 1."""
        taps = max(2, min(shape[1], int(self.high * rate)))
        seconds = rng.uniform(self.low, self.high, size=(shape[0], 1))
        share = rng.uniform(self.echo_low, self.echo_high, size=(shape[0], 1))
        decay = np.exp(-np.log(1e3) * np.arange(taps) / (seconds * rate))
        echoes = draw_standard_normal(rng, (shape[0], taps)) * decay
        echoes[:, 0] = 0
        energy = np.square(echoes).sum(axis=1, keepdims=True)
        response = (echoes * np.sqrt(share / np.maximum(energy, _SILENCE))).astype(np.float32)
        response[:, 0] = 1
        return {"response": response}

    def apply(self, waves: Waves, draws: Draws) -> Waves:
        """See :meth:`SoundMutator.apply`; the loudest value stays as it was."""
        from scipy import fft

        response, length = draws["response"], waves.shape[1]
        size = fft.next_fast_len(length + response.shape[1] - 1, real=True)
        a, b = fft.rfft(waves, size, axis=1), fft.rfft(response, size, axis=1)
        spectrum = np.empty_like(a)
        # Not a complex product: NumPy's rounds otherwise in some layouts of memory.
        spectrum.real = a.real * b.real - a.imag * b.imag
        spectrum.imag = a.real * b.imag + a.imag * b.real
        echoing = fft.irfft(spectrum, size, axis=1)[:, :length]
        before = np.abs(waves).max(axis=1, keepdims=True)
        after = np.maximum(np.abs(echoing).max(axis=1, keepdims=True), np.float32(_SILENCE))
        return within_range(echoing * (before / after))
