"""The operations on inputs that the searches need, such as mutation; images are the one domain.

An item is an input of the models, one entry along the first axis of an array of any shape and
dtype. A domain names its mutation operators and applies them.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.images import bounds
from asterism.images.mutator import build_mutators
from asterism.search.batched_random_streams import BatchedStreams

Items = NDArray[Any]
Rows = NDArray[np.int64]


class Domain(Protocol):
    """A kind of inputs."""

    #: The mutation operators' names, in the order of their numbers.
    operators: tuple[str, ...]

    def mutate(self, items: Items, operators: Rows, streams: BatchedStreams) -> Items:
        """A mutant of each item.

        Args:
            items: ``(n, ...)``, left as they are.
            operators: the operator's number for each, int64 ``(n,)``.
            streams: random numbers for each; a mutant depends on no other item's.
        """
        ...

    def crossover(self, first: Items, second: Items, rng: np.random.Generator) -> Items:
        """Children of pairs of items: each part comes from one of the two."""
        ...

    def disturb(self, items: Items, rate: float, rng: np.random.Generator) -> Items:
        """The items with this share of their parts, drawn at random, replaced at random."""
        ...

    def distances(self, items: Items, references: Items) -> dict[str, NDArray[np.float64]]:
        """Distances of each item to its reference, by name, each float64 ``(n,)``."""
        ...

    def changes(self, item: Items, reference: Items) -> NDArray[np.int64]:
        """The places where one item differs from its reference, smallest changes first."""
        ...

    def revert(self, item: Items, reference: Items, places: NDArray[np.int64]) -> Items:
        """The item with these places as in its reference."""
        ...


class ImageDomain:
    """Images, uint8 ``(N, H, W, C)``, and the image mutators.

    Args:
        operators: for each mutator's name the options that differ from the mutator's defaults.
    """

    def __init__(self, operators: dict[str, dict[str, Any]]) -> None:
        self.operators = tuple(operators)
        self._mutators = list(build_mutators(operators).values())

    def require_shape(self, shape: tuple[int, int, int]) -> None:
        """Raise a :class:`UserError` unless every mutator can mutate images ``(H, W, C)``."""
        for name, mutator in zip(self.operators, self._mutators, strict=True):
            if reason := mutator.misfit(shape):
                raise UserError(f"trigger.operators.{name}.{reason}")

    def mutate(self, items: Items, operators: Rows, streams: BatchedStreams) -> Items:
        """See :meth:`Domain.mutate`."""
        mutants = np.empty_like(items)
        for number, mutator in enumerate(self._mutators):
            rows = np.flatnonzero(operators == number)
            if len(rows):
                draws = mutator.draw(streams.of(rows), (len(rows), *items.shape[1:]))
                mutants[rows] = mutator.apply(items[rows], draws)
        return mutants

    def crossover(self, first: Items, second: Items, rng: np.random.Generator) -> Items:
        """Each pixel comes from either parent with equal chance."""
        from_second = rng.random(first.shape[:-1], dtype=np.float32) < 0.5
        return np.where(from_second[..., np.newaxis], second, first)

    def disturb(self, items: Items, rate: float, rng: np.random.Generator) -> Items:
        """A share of the pixels takes random values in all channels."""
        disturbed = items.copy()
        pixels = rng.random(items.shape[:-1], dtype=np.float32) < rate
        count = int(pixels.sum())
        disturbed[pixels] = rng.integers(0, 256, (count, items.shape[-1]), dtype=np.uint8)
        return disturbed

    def distances(self, items: Items, references: Items) -> dict[str, NDArray[np.float64]]:
        """Changed pixels, and L2 and L∞ distance in grey levels."""
        difference = (items.astype(np.int64) - references).reshape(len(items), -1)
        changed = (items != references).any(axis=-1).reshape(len(items), -1)
        return {
            "pixels": changed.sum(axis=1).astype(np.float64),
            "l2": np.sqrt((difference**2).sum(axis=1, dtype=np.float64)),
            "linf": bounds.largest_change(items, references).astype(np.float64),
        }

    def changes(self, item: Items, reference: Items) -> NDArray[np.int64]:
        """Numbers of the pixels ``(row * W + column)`` that changed in any channel."""
        size = np.abs(item.astype(np.int64) - reference).max(axis=-1).ravel()
        changed = np.flatnonzero(size)
        return changed[np.argsort(size[changed], kind="stable")]

    def revert(self, item: Items, reference: Items, places: NDArray[np.int64]) -> Items:
        """See :meth:`Domain.revert`."""
        reverted = item.copy().reshape(-1, item.shape[-1])
        reverted[places] = reference.reshape(reverted.shape)[places]
        return reverted.reshape(item.shape)
