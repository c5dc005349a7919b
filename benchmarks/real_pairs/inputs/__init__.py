"""Input makers: how the inputs of real pairs are made, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.construction import NoOptions
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.registry import Registry
from real_pairs.entry import PackagedFile

#: Takes a file out of its wheel.
Find = Callable[[PackagedFile], Path]


@dataclass(frozen=True)
class MadeInputs:
    """Inputs of a pair.

    Attributes:
        items: ``(N, ...)``, of the pair's kind.
        labels: int64 ``(N,)``; None where there are none.
    """

    items: NDArray[Any]
    labels: NDArray[np.int64] | None = None


class InputMaker(ABC):
    """Makes inputs of one sort. Equal options, counts and streams give equal inputs."""

    #: The options that this maker takes.
    Options: ClassVar[type[ParameterSection]] = NoOptions

    @staticmethod
    @abstractmethod
    def make(count: int, options: Any, rng: np.random.Generator, find: Find) -> MadeInputs:
        """The inputs.

        Args:
            count: how many.
            options: the maker's own.
            rng: for all that is drawn.
            find: takes a file out of its wheel.

        Raises:
            UserError: something of the machine is missing that they are made of.
        """


#: Input makers by name.
INPUT_MAKERS: Registry[type[InputMaker]] = Registry("maker of inputs", "real_pairs.inputs")
