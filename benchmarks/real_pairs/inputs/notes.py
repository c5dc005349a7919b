"""Music: chords of decaying notes with overtones."""

from __future__ import annotations

import numpy as np

from asterism.data.given import ArrayInputs
from real_pairs.inputs import INPUT_MAKERS, Find


@INPUT_MAKERS.register("notes")
def notes(
    count: int, rng: np.random.Generator, find: Find, *, rate: int, samples: int
) -> ArrayInputs:
    """One to four notes at a time, each with its own beginning, pitch, colour and decay.

    Inputs are float32 ``(N, samples)``.

    Args:
        rate: samples a second.
        samples: of each waveform.
    """
    waves = np.zeros((count, samples))
    for wave in waves:
        for _ in range(rng.integers(1, 4, endpoint=True)):
            start = int(rng.integers(0, samples // 2))
            seconds = np.arange(samples - start) / rate
            pitch = 440 * 2 ** ((rng.integers(36, 84) - 69) / 12)  # MIDI notes 36 to 83
            fade = np.exp(-seconds * rng.uniform(0.5, 4)) * np.minimum(1, seconds / 0.01)
            for overtone in range(1, 7):
                if pitch * overtone < rate / 2:
                    share = rng.uniform(0.3, 1) / overtone**1.5
                    wave[start:] += share * fade * np.sin(2 * np.pi * pitch * overtone * seconds)
        wave *= rng.uniform(0.2, 0.9) / np.abs(wave).max()
        wave += rng.normal(0, rng.uniform(0, 0.005), samples)
    return ArrayInputs(np.clip(waves, -1, 1).astype(np.float32))
