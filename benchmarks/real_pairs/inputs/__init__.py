"""Input makers: how the inputs of real pairs are made, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

import numpy as np

from asterism.core.parameters.registry import Registry
from asterism.data.given.reading import Arrays
from real_pairs.entry import PackagedFile

#: Takes a file out of its wheel.
Find = Callable[[PackagedFile], Path]


class InputMaker(ABC):
    """Makes inputs of one sort. Equal options, counts and streams give equal inputs.

    The fields of a maker are its options.
    """

    @abstractmethod
    def make(self, count: int, rng: np.random.Generator, find: Find) -> Arrays:
        """The inputs.

        Args:
            count: how many.
            rng: for all that is drawn.
            find: takes a file out of its wheel.

        Raises:
            UserError: something of the machine is missing that they are made of.
        """


#: Input makers by name.
INPUT_MAKERS: Registry[type[InputMaker]] = Registry("maker of inputs", "real_pairs.inputs")
