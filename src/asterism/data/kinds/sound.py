"""Sound: WAV files, as waveforms of one channel."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from math import gcd
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import require_file
from asterism.core.files.limits import require_file_within_limit
from asterism.core.messages.errors import UserError, reading
from asterism.data.kinds import (
    INPUT_KINDS,
    InputKind,
    Shaping,
    fitted_length,
    require_array_within_limit,
)

#: Reads of a file's parts, of which a sound has a handful.
_MOST_READS = 10_000
#: Samples a second: the filter that changes their number is as long as either number.
_MOST_RATE = 1_000_000


class _FewParts(io.BufferedReader):
    """A file of few parts: millions of empty ones would be read for hours."""

    _reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self._reads += 1
        if self._reads > _MOST_READS:
            raise ValueError(f"it has more than {_MOST_READS:,} parts")
        return super().read(size)


@INPUT_KINDS.register("sound")
class SoundKind(InputKind):
    """Waveforms, float32 ``(N, S)`` in [-1, 1]."""

    suffixes: ClassVar[tuple[str, ...]] = (".wav",)

    @staticmethod
    def read(path: Path, shaping: Shaping) -> list[NDArray[Any]]:
        """See :meth:`.InputKind.read`: the mean of all channels, at the rate that is asked for."""
        from scipy.io import wavfile
        from scipy.signal import resample_poly

        require_file(path, "sound")
        require_file_within_limit(path, "limits.array_mb")
        with reading(f"the sound {path}"), warnings.catch_warnings():
            warnings.simplefilter("ignore", wavfile.WavFileWarning)  # of chunks that hold no sound
            with _FewParts(io.FileIO(path)) as file:
                rate, values = wavfile.read(file)
        wave = _real(values, path)
        if shaping.rate is not None and rate != shaping.rate:
            if not 1 <= rate <= _MOST_RATE:
                raise UserError(f"{path} has {rate:,} samples a second: no sound has so many")
            require_array_within_limit(1, (len(wave) * shaping.rate // rate,), wave.itemsize)
            common = gcd(rate, shaping.rate)
            wave = resample_poly(wave, shaping.rate // common, rate // common)
        return [np.clip(wave, -1, 1).astype(np.float32)]  # resampling overshoots

    @staticmethod
    def stack(items: Sequence[NDArray[Any]], shaping: Shaping) -> tuple[NDArray[Any], list[str]]:
        """All waveforms cut or filled up with silence to one length."""
        fixed = next((size for size in shaping.sizes if size is not None and size > 1), None)
        length = fitted_length([len(item) for item in items], fixed, shaping)
        waves = np.zeros((len(items), length), np.float32)
        for row, item in zip(waves, items, strict=True):
            row[: len(item)] = item[:length]
        cut = sum(len(item) > length for item in items)
        return waves, [f"{cut} sounds were cut to {length} samples"] if cut else []


def _real(values: NDArray[Any], path: Path) -> NDArray[np.float32]:
    """Samples in [-1, 1], the mean of the channels."""
    wave: NDArray[Any] = np.asarray(values, np.float32)
    if values.dtype == np.uint8:
        wave = (wave - 128) / 128
    elif values.dtype.kind == "i":
        wave = wave / np.float32(-float(np.iinfo(values.dtype).min))
    if not wave.size or not np.isfinite(wave).all():
        raise UserError(f"{path} holds no sound, or numbers that are not finite")
    return np.asarray(wave.mean(axis=1) if wave.ndim == 2 else wave, np.float32)
