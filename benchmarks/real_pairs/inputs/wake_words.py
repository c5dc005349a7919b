"""Spectra of spoken wake words and of other speech, as models for microcontrollers take them."""

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
from real_pairs.inputs.words import sentences

#: What the front end takes: samples a second, bytes of 10 ms of 16-bit samples.
_RATE, _CHUNK = 16_000, 320
#: Accents and variants of espeak-ng's English voice.
_ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-029")
_VARIANTS = ("m1", "m2", "m3", "m4", "m5", "m6", "m7", "f1", "f2", "f3", "f4", "f5")


@INPUT_MAKERS.register("wake_words")
def wake_words(
    count: int, rng: np.random.Generator, find: Find, *, phrase: str, frames: int
) -> ArrayInputs:
    """Half of the items end with the wake word, half are other speech; espeak-ng speaks both.

    Features are those of TensorFlow Lite's front end for microcontrollers: 40 channels each 10 ms.

    Inputs are float32 ``(N, frames, 40)``.

    Args:
        phrase: the wake word.
        frames: of 10 ms, in each item.
    """
    wanted = rng.permutation(np.arange(count) % 2) == 1
    others = [" ".join(str(text).split()[:4]) for text in rng.choice(sentences(), count)]
    texts = [phrase if own else text for own, text in zip(wanted, others, strict=True)]
    waves = [_noisy(wave, rng) for wave in spoken(texts, rng)]
    return ArrayInputs(np.stack([_last_frames(wave, frames) for wave in waves]))


def _last_frames(wave: NDArray[np.float32], frames: int) -> NDArray[np.float32]:
    """The features of the end of a waveform, after as much silence as is needed."""
    try:
        from pymicro_features import MicroFrontend
    except ImportError:
        raise UserError(
            "pymicro-features is not installed, which makes the inputs of wake words: "
            "`pip install pymicro-features==2.0.2`"
        ) from None
    front = MicroFrontend()
    before = np.zeros(max(0, (frames + 5) * _CHUNK // 2 - len(wave)), np.float32)
    samples = np.rint(np.concatenate([before, wave]) * 32767).astype("<i2").tobytes()
    found, start = [], 0
    while start + _CHUNK <= len(samples):
        answer = front.process_samples(samples[start : start + _CHUNK])
        start += answer.samples_read * 2
        if answer.features:
            found.append(answer.features)
    return np.asarray(found[-frames:], np.float32)


def _noisy(wave: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """A waveform with white noise of a random level."""
    noise = rng.normal(0, rng.uniform(0, 0.01), len(wave))
    return np.asarray(np.clip(wave + noise, -1, 1), np.float32)


def spoken(texts: Sequence[str], rng: np.random.Generator) -> list[NDArray[np.float32]]:
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
            waves.append(INPUT_KINDS["sound"].read(path, Shaping(rate=_RATE))[0])
            path.unlink()
    return waves
