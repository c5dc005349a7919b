"""Speech: prompts that people recorded, and texts that espeak-ng speaks in many voices."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.data.given import ArrayInputs
from asterism.data.kinds import INPUT_KINDS, Shaping
from real_pairs.inputs import INPUT_MAKERS, Find

Wave = NDArray[np.float32]

#: Debian's package of prompts of a telephone exchange, spoken by one woman, and where it puts them.
PROMPTS, _PACKAGE = Path("/usr/share/asterisk/sounds"), "asterisk-core-sounds-en-wav"
_VOICE = "en_US_f_Allison"
#: Accents and variants of espeak-ng's English voice.
_ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-029")
_VARIANTS = ("m1", "m2", "m3", "m4", "m5", "m6", "m7", "f1", "f2", "f3", "f4", "f5")


@INPUT_MAKERS.register("prompts")
def prompts(
    count: int, rng: np.random.Generator, find: Find, *, rate: int, samples: int, noise: float
) -> ArrayInputs:
    """Cuts of recorded prompts, at any place, some of them noisy.

    Inputs are float32 ``(N, samples)``.

    Args:
        rate: samples a second.
        samples: of each waveform.
        noise: largest deviation of the noise, of full scale.
    """
    files = sorted((PROMPTS / _VOICE).rglob("*.wav"))
    files = [file for file in files if "silence" not in file.parts]
    if not files:
        raise UserError(f"there are no prompts in {PROMPTS}: `apt-get install {_PACKAGE}`")
    cuts: list[Wave] = []
    while len(cuts) < count:
        wave = read_sound(files[rng.integers(len(files))], rate)
        while len(wave) < samples:  # prompts follow each other after a pause
            pause = np.zeros(int(rng.uniform(0.1, 0.5) * rate), np.float32)
            more = read_sound(files[rng.integers(len(files))], rate)
            wave = np.concatenate([wave, pause, more])
        start = int(rng.integers(0, len(wave) - samples, endpoint=True))
        cuts.append(noisy(wave[start : start + samples], noise, rng))
    return ArrayInputs(np.stack(cuts))


def read_sound(path: Path, rate: int) -> Wave:
    """A sound's waveform at a rate, float32 in [-1, 1]."""
    wave: Wave = INPUT_KINDS["sound"].read(path, Shaping(rate=rate))[0]
    return wave


def noisy(wave: Wave, largest: float, rng: np.random.Generator) -> Wave:
    """A waveform with white noise of a random level, from nothing to the largest."""
    noise = rng.normal(0, rng.uniform(0, largest), len(wave)) if largest else 0.0
    return np.asarray(np.clip(wave + noise, -1, 1), np.float32)


def spoken(texts: Sequence[str], rate: int, rng: np.random.Generator) -> list[Wave]:
    """Texts as espeak-ng speaks them, each in a voice, speed and pitch of its own.

    Raises:
        UserError: espeak-ng is not installed, or fails.
    """
    if shutil.which("espeak-ng") is None:
        raise UserError("there is no espeak-ng: `apt-get install espeak-ng`")
    waves = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spoken.wav"
        for text in texts:
            voice = f"{rng.choice(_ACCENTS)}+{rng.choice(_VARIANTS)}"
            command: list[Any] = ["espeak-ng", "-v", voice, "-w", path]
            command += ["-s", rng.integers(120, 190), "-p", rng.integers(20, 80), "--", text]
            done = subprocess.run(
                [str(part) for part in command], capture_output=True, text=True, check=False
            )
            if done.returncode or not path.exists():
                raise UserError(f"espeak-ng did not speak as {voice}: {done.stderr.strip()}")
            waves.append(read_sound(path, rate))
            path.unlink()
    return waves
