"""Makers: how model files are made of those that packages carry; one step each, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from asterism.core.parameters.construction import NoOptions
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.registry import Registry
from asterism.models.runtimes.runtime import Tensors
from real_pairs.entry import PackagedFile


@dataclass(frozen=True)
class Material:
    """What a maker may use beside the file itself.

    Attributes:
        calibration: inputs of the original by name, one item each, made anew at each call; it
            needs the original to be made.
        find: takes another file out of its wheel.
    """

    calibration: Callable[[], Sequence[Tensors]]
    find: Callable[[PackagedFile], Path]


class Maker(ABC):
    """Makes one model file of another."""

    #: The options that this maker takes.
    Options: ClassVar[type[ParameterSection]] = NoOptions
    #: Of the file that is made; None for that of the source.
    suffix: ClassVar[str | None] = None

    @staticmethod
    @abstractmethod
    def make(source: Path, target: Path, options: Any, material: Material) -> None:
        """Write the file.

        Args:
            source: the file to start from.
            target: the file to write.
            options: the maker's own.
            material: what else there is.

        Raises:
            UserError: the source is no file that this can be made of.
        """


#: Makers by name.
MAKERS: Registry[type[Maker]] = Registry("maker of model files", "real_pairs.making")
