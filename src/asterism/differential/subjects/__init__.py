"""Kinds of model files that are run as they are: what they have in common, and one module each."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.limits import require_size_within_limit
from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import Registry
from asterism.core.random_streams import stream
from asterism.differential.adapters.backend_names import file_references
from asterism.differential.adapters.library import EXTRA_MODULES
from asterism.differential.engine.inputs import BATCH, draw_floats
from asterism.differential.reference.runs import ReferenceRuns
from asterism.memo.universe.tensors import EPSILON

Arrays = list[NDArray[Any]]

#: Integers are drawn below it where nothing in the model tells a bound.
INTEGER_BOUND = 10

#: Inputs that can be drawn.
DISTRIBUTIONS = ("normal", "wide", "nan", "infinity")


@dataclass(frozen=True)
class InputSpec:
    """An input of a model.

    Args:
        name: in the model.
        shape: with the batch; every size is known.
        dtype: NumPy's name of it.
        bound: integers are drawn below it.
        title: what the user's file calls it; nothing where that is the same.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    bound: int = INTEGER_BOUND
    title: str = ""

    @property
    def label(self) -> str:
        """The input's name for people."""
        return self.title or self.name


def usual_bound(title: str) -> int:
    """The bound of drawn integers that are no indices; 2 for a mask, which holds 0 and 1."""
    return 2 if "mask" in title.lower() else INTEGER_BOUND


def fitting_shape(
    stated: Sequence[int], given: Sequence[int] | None, size: int, dtype: str, where: str
) -> tuple[int, ...]:
    """The shape of an input, with the batch.

    Args:
        stated: what the file says; 0 where a size is free.
        given: what the user says; None for nothing.
        size: stands for free sizes but the first axis', which is the batch.
        dtype: the dtype of the numbers.
        where: the input, for messages.

    Raises:
        UserError: what is given does not fit, or the input takes more than ``limits.array_mb``.
    """
    if given is None:
        given = [s or (size if at else BATCH) for at, s in enumerate(stated)]
    elif len(given) != len(stated) or any(
        s not in (0, g) for s, g in zip(stated, given, strict=True)
    ):
        wanted = ",".join(str(s or "?") for s in stated)
        raise UserError(f"{where} has the shape {wanted}")
    wanted_bytes = math.prod(given) * np.dtype(dtype).itemsize
    require_size_within_limit(wanted_bytes, "limits.array_mb", f"{where} has a shape")
    return tuple(given)


@dataclass(frozen=True)
class FileNode:
    """A step of a model.

    Args:
        label: what it is called on a page.
        reads: names of the values that it reads.
        makes: names of the values that it makes.
    """

    label: str
    reads: tuple[str, ...]
    makes: tuple[str, ...]


class ModelFile(ABC):
    """A model under test, as a file; the formats are its subclasses."""

    #: Suffix of such files.
    suffix: ClassVar[str]

    #: Of what follows, the name on the page, and the inputs in the model's order.
    name: str
    inputs: tuple[InputSpec, ...]

    @property
    def references(self) -> ReferenceRuns:
        """The float64 runs that say what such files compute."""
        return file_references()[self.suffix]

    @property
    @abstractmethod
    def content(self) -> bytes:
        """The bytes of the file."""

    @property
    @abstractmethod
    def nodes(self) -> Sequence[FileNode]:
        """Its steps, in an order in which they can run."""

    @property
    @abstractmethod
    def declared(self) -> list[str]:
        """The type of each output, where the file declares them."""

    @property
    @abstractmethod
    def coarsest(self) -> str:
        """The coarsest type of floating numbers in it."""

    @property
    def epsilon(self) -> float:
        """The relative rounding of the coarsest type."""
        return EPSILON[self.coarsest]

    @property
    def depth(self) -> int:
        """Number of nodes on the longest path."""
        depths: dict[str, int] = {}
        for node in self.nodes:
            depth = max((depths.get(name, 0) for name in node.reads), default=0) + 1
            depths |= dict.fromkeys(node.makes, depth)
        return max(depths.values(), default=1)

    @property
    def quantises(self) -> bool:
        """Whether some step of it quantises what it reads or makes."""
        return False

    @property
    def is_in_reference(self) -> bool:
        """Whether the reference computes all that the model says."""
        return True

    @property
    def is_defined_for_nan(self) -> bool:
        """Whether the definitions of all its steps say what comes of NaN."""
        return False

    @abstractmethod
    def kinds(self) -> dict[str, np.dtype[Any]]:
        """The type of every value, if the file says it or it follows."""

    @abstractmethod
    def fixed(self, inputs: Arrays) -> ModelFile:
        """The model with the shapes of these inputs, without what it says of values inside."""

    @abstractmethod
    def exposing(self) -> tuple[ModelFile, list[str]]:
        """The model that puts out every value, and the values' names in that order."""

    @abstractmethod
    def part(
        self, chosen: Sequence[int], value: Callable[[str], NDArray[Any] | None]
    ) -> tuple[ModelFile, Arrays] | None:
        """Some nodes as a model of their own, and what they read.

        Args:
            chosen: numbers of the nodes, in their order.
            value: what a value of the whole model is, or None.

        Returns:
            None where a value that the part reads or makes is not known.
        """

    def draw(self, seed: int, distribution: str) -> list[NDArray[Any]]:
        """A batch for each input.

        Args:
            seed: of the run.
            distribution: one of :data:`DISTRIBUTIONS`; ``wide`` is uniform in [-10, 10], ``nan``
                and ``infinity`` are normal with one such number in each item.
        """
        arrays: list[NDArray[Any]] = []
        for spec in self.inputs:
            rng = stream(seed, "given file", self.name, spec.label, distribution)
            kind = np.dtype(spec.dtype)
            if kind.kind == "b":
                arrays.append(rng.integers(0, 2, spec.shape).astype(kind))
            elif kind.kind in "iu":
                arrays.append(rng.integers(0, spec.bound, spec.shape).astype(kind))
            else:
                arrays.append(draw_floats(rng, spec.shape, distribution).astype(kind))
        return arrays


#: Opens a model file, with what stands for free sizes and the shapes of inputs by name.
Reader = Callable[[Path, int, Mapping[str, Sequence[int]]], ModelFile]

#: What opens each kind of file, by the suffix of its name.
SUBJECTS: Registry[Reader] = Registry(
    "kind of model file", "asterism.differential.subjects", EXTRA_MODULES
)
