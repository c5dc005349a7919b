"""What an image mutator is.

Drawing the random numbers and applying them are two steps. So one set of draws can be applied to
two batches (an image and its reference), draws of many items with streams of their own can be put
together and applied as one batch, and ``apply`` is a plain function that tests can check.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.registry import Registry

Images = NDArray[np.uint8]
#: Random numbers of a batch by name, each with the batch as its first axis.
Draws = dict[str, NDArray[np.generic]]


class Mutator(ABC):
    """Turns images into mutants of the same shape and dtype."""

    #: Whether each pixel changes on its own (noise), so that distances to the original mean
    #: something; a transformation that moves or blends pixels is not.
    pixel_level: ClassVar[bool]

    @abstractmethod
    def draw(self, rng: np.random.Generator, shape: tuple[int, int, int, int]) -> Draws:
        """Everything random about mutating a batch of this shape ``(N, H, W, C)``."""

    @abstractmethod
    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images`` (uint8, ``(N, H, W, C)``), clipped to [0, 255], never in place."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


MUTATORS: Registry[type[Mutator]] = Registry("mutator", "asterism.images")
