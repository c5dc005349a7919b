"""Model files by format: one module each, which reads the file and runs batches through it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.registry import Registry

Batch = NDArray[np.float32]


class Runtime(Protocol):
    """A model file that is open and can be run.

    ``run`` is called from several threads at once, so it releases Python's lock while it works
    and keeps no state between calls.
    """

    #: What one image looks like, ``(H, W, C)``, after the runtime has adapted the layout.
    input_shape: tuple[int, int, int]
    #: Length of the output vector.
    outputs: int
    #: Distance of neighbouring output values where they are quantised, 0 where they are not.
    output_step: float
    #: Number of images that every call must have; None where any number will do.
    fixed_batch: int | None
    #: What a reader of the results should know about how the file is run.
    notes: tuple[str, ...]

    def run(self, batch: Batch) -> Batch:
        """Raw outputs ``(N, K)`` float32 for preprocessed images ``(N, H, W, C)`` float32."""
        ...


class Format(ABC):
    """How files of one format are recognised and opened."""

    #: File name suffixes that claim this format, with their dots.
    suffixes: ClassVar[tuple[str, ...]]
    #: Whether files begin in a way that tells them from those of all other formats.
    has_signature: ClassVar[bool] = True

    @staticmethod
    @abstractmethod
    def recognises(head: bytes, path: Path) -> bool:
        """Whether a file that starts with these bytes (64 of them, or all) can be one."""

    @staticmethod
    @abstractmethod
    def open(path: Path) -> Runtime:
        """Open a file.

        Raises:
            UserError: it is damaged, or asks for something that this format's library lacks.
        """


FORMATS: Registry[type[Format]] = Registry("model format", "asterism.models.classifiers.formats")
