"""Music: chords of decaying notes with overtones."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from real_pairs.inputs import INPUT_MAKERS, Find, InputMaker, MadeInputs


@INPUT_MAKERS.register("notes")
class Notes(InputMaker):
    """One to four notes at a time, each with its own beginning, pitch, colour and decay."""

    class Options(ParameterSection):
        """Length of waveforms."""

        rate: int = Field(ge=8000, description="samples a second")
        samples: int = Field(ge=1, description="of each waveform")

    @staticmethod
    def make(count: int, options: Options, rng: np.random.Generator, find: Find) -> MadeInputs:
        """See :meth:`.InputMaker.make`: float32 ``(N, samples)``."""
        waves = np.zeros((count, options.samples))
        for wave in waves:
            for _ in range(rng.integers(1, 4, endpoint=True)):
                start = int(rng.integers(0, options.samples // 2))
                seconds = np.arange(options.samples - start) / options.rate
                pitch = 440 * 2 ** ((rng.integers(36, 84) - 69) / 12)  # MIDI notes 36 to 83
                fade = np.exp(-seconds * rng.uniform(0.5, 4)) * np.minimum(1, seconds / 0.01)
                for overtone in range(1, 7):
                    if pitch * overtone < options.rate / 2:
                        share = rng.uniform(0.3, 1) / overtone**1.5
                        wave[start:] += (
                            share * fade * np.sin(2 * np.pi * pitch * overtone * seconds)
                        )
            wave *= rng.uniform(0.2, 0.9) / np.abs(wave).max()
            wave += rng.normal(0, rng.uniform(0, 0.005), options.samples)
        return MadeInputs(np.clip(waves, -1, 1).astype(np.float32))
