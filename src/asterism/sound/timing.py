"""When a sound happens, and how fast: time shift, time stretch and pitch shift.

Stretching is a phase vocoder (Flanagan and Golden, 1966): the short-time spectra are read at
another pace, and phases go on by as much as they do in the original. The phase's advance is a
product of unit phasors, so that no angle is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from asterism.core.random_streams import Draws, Randomness
from asterism.sound import (
    SOUND_MUTATORS,
    SoundMutator,
    Waves,
    draw_between,
    within_range,
)

#: Samples of a short-time spectrum, and from one to the next.
_FRAME, _HOP = 512, 128
#: Rows whose spectra are in memory at a time: so many stay in a processor's cache, and in memory
#: that the process need not ask the system for again.
_ROWS = 1
#: Absolute values of a spectrum from which on there is something.
_SMALL = np.float32(1e-10)


@SOUND_MUTATORS.register("time_shift")
@dataclass(frozen=True)
class TimeShift(SoundMutator):
    """Begins the sound earlier or later (Dflare, section 6.1); what is missing is silence.

    Attributes:
        low: smallest shift as a share of the length, negative for earlier, at least -1.
        high: largest shift, at most 1.
    """

    low: float = -0.1
    high: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low < -1 or self.high > 1:
            raise ValueError(f"shares must lie in [-1, 1], not {self.low} to {self.high}")

    def draw(self, rng: Randomness, shape: tuple[int, int], rate: int) -> Draws:
        """``samples``: int64 ``(N, 1)``, later by so many."""
        share = rng.uniform(self.low, self.high, size=(shape[0], 1))
        return {"samples": np.rint(share * shape[1]).astype(np.int64)}

    def apply(self, waves: Waves, draws: Draws) -> Waves:
        """See :meth:`SoundMutator.apply`."""
        shifted, length = np.zeros_like(waves), waves.shape[1]
        for row, later in enumerate(draws["samples"][:, 0].tolist()):
            kept = waves[row, max(0, -later) : length - max(0, later)]
            shifted[row, max(0, later) : length + min(0, later)] = kept
        return within_range(shifted)


@SOUND_MUTATORS.register("time_stretch")
@dataclass(frozen=True)
class TimeStretch(SoundMutator):
    """Plays faster or slower at the same pitch (Dflare, section 6.1); cut or followed by silence.

    Attributes:
        low: smallest pace, below 1 for slower, above 0.
        high: largest pace.
    """

    low: float = 0.8
    high: float = 1.25

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low <= 0:
            raise ValueError(f"a pace must be above 0, not {self.low}")

    def draw(self, rng: Randomness, shape: tuple[int, int], rate: int) -> Draws:
        """``pace``: float32 ``(N, 1)``."""
        return {"pace": draw_between(rng, shape[0], self.low, self.high)}

    def apply(self, waves: Waves, draws: Draws) -> Waves:
        """See :meth:`SoundMutator.apply`."""
        return within_range(stretch_waves(waves, draws["pace"], waves.shape[1]))


@SOUND_MUTATORS.register("pitch_shift")
@dataclass(frozen=True)
class PitchShift(SoundMutator):
    """Raises or lowers the pitch at the same pace (Dflare, section 6.1).

    Attributes:
        low: smallest shift in semitones, at least -24.
        high: largest shift in semitones, at most 24.
    """

    low: float = -4.0
    high: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low < -24 or self.high > 24:
            raise ValueError(f"semitones must lie in [-24, 24], not {self.low} to {self.high}")

    def draw(self, rng: Randomness, shape: tuple[int, int], rate: int) -> Draws:
        """``semitones``: float32 ``(N, 1)``."""
        return {"semitones": draw_between(rng, shape[0], self.low, self.high)}

    def apply(self, waves: Waves, draws: Draws) -> Waves:
        """See :meth:`SoundMutator.apply`."""
        ratio = np.power(2.0, draws["semitones"].astype(np.float64) / 12)
        pace, samples = (1 / ratio).astype(np.float32), np.arange(waves.shape[1], dtype=np.float64)
        shifted = np.empty_like(waves)
        for row, faster in enumerate(ratio[:, 0].tolist()):
            own, longest = slice(row, row + 1), int(np.ceil(len(samples) * faster)) + _FRAME
            shifted[own] = _read_at(
                stretch_waves(waves[own], pace[own], longest), samples * ratio[own]
            )
        return within_range(shifted)


def stretch_waves(waves: Waves, pace: NDArray[np.float32], length: int) -> Waves:
    """The waves at another pace and the same pitch.

    Args:
        waves: float32 ``(N, S)``.
        pace: seconds of the original in a second of the result, float32 ``(N, 1)``.
        length: samples of the result: longer ones are cut, shorter ones followed by silence.

    Returns:
        float32 ``(N, length)``.
    """
    result = np.empty((len(waves), length), np.float32)
    for start in range(0, len(waves), _ROWS):
        rows = slice(start, start + _ROWS)
        result[rows] = _stretched(waves[rows], pace[rows], length)
    return result


def _stretched(waves: Waves, pace: NDArray[np.float32], length: int) -> Waves:
    from scipy import fft

    window = _window()
    padded = np.pad(waves, ((0, 0), (_FRAME // 2, _FRAME + _HOP)))
    frames = np.lib.stride_tricks.sliding_window_view(padded, _FRAME, axis=1)[:, ::_HOP]
    spectra = fft.rfft(frames * window, axis=2)
    last = spectra.shape[1] - 2
    wanted = -(-length // _HOP) + _FRAME // _HOP
    places = np.arange(wanted) * pace.astype(np.float64)
    beyond = places > last
    before = np.minimum(places.astype(np.int64), last)
    between = (places - before).astype(np.float32)
    # Real and imaginary parts apart: NumPy's complex products round otherwise in some layouts.
    real, imaginary = np.ascontiguousarray(spectra.real), np.ascontiguousarray(spectra.imag)
    size = real * real
    size += imaginary * imaginary
    np.sqrt(size, out=size)
    row = np.arange(len(waves))[:, np.newaxis]
    loud = size[row, before]
    loud += (size[row, before + 1] - loud) * between[:, :, np.newaxis]
    loud[beyond] = 0
    cosine, sine = _phasors(real, imaginary, size)
    turn_cosine = cosine[:, 1:] * cosine[:, :-1]
    turn_cosine += sine[:, 1:] * sine[:, :-1]
    turn_sine = sine[:, 1:] * cosine[:, :-1]
    turn_sine -= cosine[:, 1:] * sine[:, :-1]
    at = (row.T, before.T)
    phase = _turned_on(cosine[:, 0], sine[:, 0], turn_cosine[at], turn_sine[at])
    turned = np.empty((len(waves), wanted, spectra.shape[2]), np.complex64)
    np.multiply(phase[:, 0].swapaxes(0, 1), loud, out=turned.real)
    np.multiply(phase[:, 1].swapaxes(0, 1), loud, out=turned.imag)
    parts = fft.irfft(turned, _FRAME, axis=2)
    parts *= window
    return _overlapped(parts)[:, _FRAME // 2 : _FRAME // 2 + length]


def _turned_on(
    cosine: NDArray[np.float32],
    sine: NDArray[np.float32],
    by_cosine: NDArray[np.float32],
    by_sine: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Phasors that are turned from each step to the next.

    Args:
        cosine: of the first phase, ``(N, bins)``.
        sine: of the first phase, ``(N, bins)``.
        by_cosine: of the turn after each step, ``(steps, N, bins)``.
        by_sine: of the turn after each step, ``(steps, N, bins)``.

    Returns:
        Cosine and sine at each step, float32 ``(steps, 2, N, bins)``.
    """
    phase = np.empty((len(by_cosine), 2, *cosine.shape), np.float32)
    phase[0] = cosine, sine
    straight, across = np.empty_like(phase[0]), np.empty_like(phase[0])
    for now, then, c, s in zip(phase[:-1], phase[1:], by_cosine[:-1], by_sine[:-1], strict=True):
        np.multiply(now, c, out=straight)
        np.multiply(now, s, out=across)
        np.subtract(straight[0], across[1], out=then[0])
        np.add(across[0], straight[1], out=then[1])
    return phase


def _overlapped(parts: NDArray[np.float32]) -> Waves:
    """Frames ``(N, frames, _FRAME)`` added up, each ``_HOP`` samples after the one before."""
    rows, frames, _ = parts.shape
    pieces = _FRAME // _HOP
    total = np.zeros((rows, frames + pieces - 1, _HOP), np.float32)
    for piece in range(pieces):
        total[:, piece : piece + frames] += parts[:, :, piece * _HOP : (piece + 1) * _HOP]
    # Four squared Hann windows a quarter apart add up to 1.5 everywhere.
    total *= np.float32(1 / 1.5)
    return total.reshape(rows, -1)


def _phasors(
    real: NDArray[np.float32], imaginary: NDArray[np.float32], size: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cosines and sines of the phases; phase 0 where there is nothing.

    Args:
        real: of the values.
        imaginary: of the values.
        size: their absolute values.
    """
    there = size > _SMALL
    divisor = np.where(there, size, np.float32(1))
    cosine: NDArray[np.float32] = np.where(there, real / divisor, np.float32(1))
    sine: NDArray[np.float32] = np.where(there, imaginary / divisor, np.float32(0))
    return cosine, sine


@cache
def _window() -> NDArray[np.float32]:
    """A periodic Hann window."""
    angle = 2 * np.pi * np.arange(_FRAME) / _FRAME
    return (0.5 - 0.5 * np.cos(angle)).astype(np.float32)


def _read_at(waves: Waves, places: NDArray[np.float64]) -> Waves:
    """Values between samples, by cubic interpolation (Catmull and Rom, 1974).

    Args:
        waves: float32 ``(N, S)``.
        places: where to read, in samples, float64 ``(N, M)``; beyond the end is silence.
    """
    padded = np.pad(waves, ((0, 0), (1, 3)))
    whole = np.minimum(places.astype(np.int64), waves.shape[1])
    t = (places - whole).astype(np.float32)
    whole += padded.shape[1] * np.arange(len(waves))[:, np.newaxis]
    p0, p1, p2, p3 = (padded.ravel()[n:].take(whole) for n in range(4))
    half = np.float32(0.5)
    a = half * (p3 - p0) + np.float32(1.5) * (p1 - p2)
    b = p0 - np.float32(2.5) * p1 + np.float32(2) * p2 - half * p3
    c = half * (p2 - p0)
    read: Waves = ((a * t + b) * t + c) * t + p1
    return np.where(places < waves.shape[1], read, np.float32(0))
