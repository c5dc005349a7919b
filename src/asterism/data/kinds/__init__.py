"""Kinds of inputs that a user supplies as files: reading one, and stacking several; by name."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.core.files.limits import require_size_within_limit
from asterism.core.parameters.registry import Registry

Sizes = tuple[int | None, ...]


@dataclass(frozen=True)
class Shaping:
    """What a kind may be told about the array that it makes.

    Attributes:
        sizes: what the model's main input takes, without the batch; None where a size is free.
        rate: samples a second; None for what the files have.
        length: numbers of one item, where the model leaves them free; None for the longest item's.
        pad: what fills an item up.
        fit: of images of another aspect: ``crop``, ``pad``, ``squeeze``, or ``auto``.
    """

    sizes: Sizes = ()
    rate: int | None = None
    length: int | None = None
    pad: int = 0
    fit: str = "auto"


class InputKind(ABC):
    """One kind of inputs."""

    #: Suffixes of files that are of this kind where nothing else is said.
    suffixes: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    @abstractmethod
    def read(path: Path, shaping: Shaping) -> list[NDArray[Any]]:
        """The items of one file, mostly one.

        Raises:
            UserError: missing, damaged or too large.
        """

    @staticmethod
    @abstractmethod
    def stack(items: Sequence[NDArray[Any]], shaping: Shaping) -> tuple[NDArray[Any], list[str]]:
        """All items as one array ``(N, ...)``, and notes on what was changed for it.

        Raises:
            UserError: they do not fit together or into the model.
        """


#: Kinds by name.
INPUT_KINDS: Registry[type[InputKind]] = Registry("kind of inputs", "asterism.data.kinds")


def require_array_within_limit(items: int, sizes: Sequence[int], width: int) -> None:
    """Reject an array of all items that exceeds the limit.

    Args:
        items: how many.
        sizes: of each.
        width: bytes of a number.

    Raises:
        UserError: it is larger than ``limits.array_mb``.
    """
    wanted = items * math.prod(sizes) * width
    require_size_within_limit(
        wanted, "limits.array_mb", f"{items:,} inputs of the sizes {sizes} take memory"
    )


def fitted_length(lengths: Sequence[int], wanted: int | None, shaping: Shaping) -> int:
    """How long all items are made: what the model takes, what was asked for, or the longest.

    Raises:
        UserError: so long they are larger than ``limits.array_mb`` together.
    """
    length = wanted or shaping.length or max(lengths)
    require_array_within_limit(len(lengths), (length,), 4)
    return length
