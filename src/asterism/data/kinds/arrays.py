"""Bytes of any file, and arrays of NumPy: tokens and plain tensors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import require_file
from asterism.core.files.limits import read_within_limit
from asterism.core.messages.errors import UserError
from asterism.data.kinds import INPUT_KINDS, InputKind, Shaping, fitted_length


class _Arrays(InputKind):
    """Inputs that files hold as arrays only."""

    @classmethod
    def read(cls, path: Path, shaping: Shaping) -> list[NDArray[Any]]:
        """See :meth:`.InputKind.read`."""
        raise UserError(f"{path}: inputs of this kind are read from .npz and .npy files only")

    @staticmethod
    def stack(items: Sequence[NDArray[Any]], shaping: Shaping) -> tuple[NDArray[Any], list[str]]:
        """See :meth:`.InputKind.stack`."""
        return np.stack(items), []


@INPUT_KINDS.register("tokens")
class TokenKind(_Arrays):
    """Token ids, integers ``(N, T)``."""


@INPUT_KINDS.register("tensors")
class TensorKind(_Arrays):
    """Real numbers ``(N, ...)``, or integers that stand for such."""


@INPUT_KINDS.register("bytes")
class ByteKind(InputKind):
    """Bytes, int32 ``(N, T)``, filled up with ``pad`` behind their end."""

    suffixes: ClassVar[tuple[str, ...]] = ()  # all that no other kind claims

    @staticmethod
    def read(path: Path, shaping: Shaping) -> list[NDArray[Any]]:
        """See :meth:`.InputKind.read`: a file's content is one item."""
        require_file(path, "file")
        return [np.frombuffer(read_within_limit(path, "limits.array_mb"), np.uint8)]

    @staticmethod
    def stack(items: Sequence[NDArray[Any]], shaping: Shaping) -> tuple[NDArray[Any], list[str]]:
        """The beginnings of all files, of one length."""
        wanted = shaping.sizes[0] if shaping.sizes else None
        length = fitted_length([len(item) for item in items], wanted, shaping)
        rows = np.full((len(items), length), shaping.pad, np.int32)
        for row, item in zip(rows, items, strict=True):
            row[: len(item)] = item[:length]
        cut = sum(len(item) > length for item in items)
        return rows, [f"of {cut} files the first {length} bytes are taken"] if cut else []
