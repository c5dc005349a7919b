"""Makers: how model files are made of those that packages carry; one step each, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from asterism.core.parameters.registry import Registry
from asterism.models.formats import Tensors
from real_pairs.entry import PackagedFile


@dataclass(frozen=True)
class Material:
    """What a maker may use beside the file itself.

    Attributes:
        calibration: inputs of the original by name, one item each, made anew at each call; none
            while the original itself is made.
        find: takes another file out of its wheel.
    """

    calibration: Callable[[], Sequence[Tensors]]
    find: Callable[[PackagedFile], Path]


#: Makers by name. A maker makes of the first file the second, with its options by keyword. It
#: raises UserError if the first is no file that this can be made of.
MAKERS: Registry[Callable[..., None]] = Registry("maker of model files", "real_pairs.making")
