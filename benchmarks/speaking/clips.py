"""Clips of speech: synthesised by espeak-ng in many voices, and human, from a Debian package."""

from __future__ import annotations

import io
import shutil
import subprocess
import wave
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import resample_poly

from asterism.core.messages.errors import UserError
from asterism.core.settings import machine

Waves = NDArray[np.float32]

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
COMMANDS = ("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go")
WORDS = DIGITS + COMMANDS

ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-029", "en-us-nyc")
#: Speakers of espeak-ng. Those of the test say nothing that a network learns from.
SPEAKERS = (
    *("m1", "m2", "m3", "m4", "m6", "m7", "m8", "f1", "f2", "f3", "f5", "Andy", "Annie", "adam"),
    *("anika", "antonio", "belinda", "benjamin", "boris", "caleb", "ed", "edward", "grandma"),
    *("grandpa", "iven", "john", "max", "michel", "paul", "pedro", "rob", "sandro", "steph"),
    *("travis", "victor", "zac"),
)
HELD_OUT_SPEAKERS = ("m5", "f4", "Alicia", "Michael", "david", "linda", "Gene", "shelby")

HUMAN_PACKAGE = "asterisk-core-sounds-en-wav"
_HUMAN = Path("usr/share/asterisk/sounds/en_US_f_Allison")


@dataclass(frozen=True)
class Clips:
    """Sounds of one length.

    Attributes:
        waves: float32 ``(N, S)`` in [-1, 1].
        texts: what is said, where that is known; else the file's name.
    """

    waves: Waves
    texts: tuple[str, ...]


def require_speech() -> str:
    """The program that speaks.

    Raises:
        UserError: it is not installed.
    """
    program = shutil.which("espeak-ng")
    if program is None:
        raise UserError("there is no espeak-ng: apt-get install espeak-ng")
    return program


def spoken(text: str, voice: str, words_a_minute: int, pitch: int, rate: int) -> Waves:
    """A text as espeak-ng says it, float32 ``(S,)``.

    Args:
        text: what to say.
        voice: accent and speaker, ``en-us+f1``.
        words_a_minute: how fast.
        pitch: 0 to 99.
        rate: samples a second of the result.
    """
    command = [require_speech(), "-v", voice, "-s", str(words_a_minute), "-p", str(pitch)]
    done = subprocess.run([*command, "--stdout", text], capture_output=True, check=True)
    return _resampled(*_samples(done.stdout), rate)


def synthesised(
    count: int, seed: int, speakers: Sequence[str], rate: int, length: int, most_words: int = 4
) -> Clips:
    """Clips of one to ``most_words`` words, each by a voice, a pace and a pitch of its own.

    A clip is the same however many are made.

    Args:
        count: how many.
        seed: with a clip's number, everything is drawn from it.
        speakers: who speaks.
        rate: samples a second.
        length: samples of a clip; what is said begins anywhere in it that leaves room.
        most_words: words of a clip.
    """

    def clip(number: int) -> tuple[Waves, str]:
        rng = np.random.default_rng([seed, number])
        while True:
            text = " ".join(rng.choice(WORDS, rng.integers(1, most_words + 1)).tolist())
            voice = f"{rng.choice(ACCENTS)}+{rng.choice(speakers)}"
            pace, pitch = int(rng.integers(120, 200)), int(rng.integers(20, 80))
            sound = spoken(text, voice, pace, pitch, rate)
            if len(sound) <= length:
                before = int(rng.integers(0, length - len(sound) + 1))
                return np.pad(sound, (before, length - len(sound) - before)), text

    with ThreadPoolExecutor(machine.available_threads()) as threads:
        waves, texts = zip(*threads.map(clip, range(count)), strict=True)
    return Clips(np.stack(waves), texts)


def human(folder: Path, rate: int, length: int, shortest: float = 0.8) -> Clips:
    """Prompts of a telephone exchange, spoken by a woman; cut or followed by silence.

    Args:
        folder: where the Debian package's sounds are unpacked.
        rate: samples a second of the result.
        length: samples of a clip.
        shortest: seconds that a prompt must have.

    Raises:
        UserError: they are not there and cannot be had.
    """
    sounds = _human_folder(folder)
    waves, texts = [], []
    for file in sorted(sounds.rglob("*.wav")):
        sound = _resampled(*_samples(file.read_bytes()), rate)
        if len(sound) >= shortest * rate:
            part = sound[:length]
            waves.append(np.pad(part, (0, length - len(part))))
            texts.append(file.relative_to(sounds).with_suffix("").as_posix())
    return Clips(np.stack(waves), tuple(texts))


def _human_folder(folder: Path) -> Path:
    installed = Path("/") / _HUMAN
    if installed.is_dir():
        return installed
    if not (folder / _HUMAN).is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            download = ["apt-get", "download", HUMAN_PACKAGE]
            subprocess.run(download, cwd=folder, check=True, capture_output=True)
            (package,) = folder.glob(f"{HUMAN_PACKAGE}*.deb")
            subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise UserError(
                f"the sounds of {HUMAN_PACKAGE} are not there: apt-get install {HUMAN_PACKAGE}"
            ) from error
    return folder / _HUMAN


def _samples(content: bytes) -> tuple[NDArray[np.int16], int]:
    """Samples of 16 bits and their rate; a stream's length may be missing in its head."""
    with wave.open(io.BytesIO(content)) as file:
        frames = file.readframes(file.getnframes())
        return np.frombuffer(frames[: len(frames) // 2 * 2], "<i2"), file.getframerate()


def _resampled(samples: NDArray[np.int16], given: int, wanted: int) -> Waves:
    common = int(np.gcd(given, wanted))
    sound: NDArray[Any] = resample_poly(samples / 32768, wanted // common, given // common)
    clipped: Waves = np.clip(sound, -1, 1).astype(np.float32)
    return clipped
