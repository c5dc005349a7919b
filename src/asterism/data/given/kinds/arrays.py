"""Tokens and plain tensors: arrays of NumPy, as they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.data.given.kind import INPUT_KINDS, InputKind, Shaping


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
class Tokens(_Arrays):
    """Token ids, integers ``(N, T)``."""


@INPUT_KINDS.register("tensors")
class Tensors(_Arrays):
    """Real numbers ``(N, ...)``, or integers that stand for such."""
