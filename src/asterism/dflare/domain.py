"""What Dflare needs to know about the inputs that it mutates: images now, others by the same door.

An item is an input of the models, one entry along the first axis of an array of any shape and
dtype. A domain names its mutation operators and applies them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from asterism.images import bounds
from asterism.images.mutator import Mutator, build_mutators

Items = NDArray[Any]
Rows = NDArray[np.int64]
#: The random generator of one purpose of one lane, by lane and purpose.
Streams = Callable[[int, str], np.random.Generator]


class Mutations(Protocol):
    """Mutates the items of many lanes, each lane with random numbers of its own."""

    def apply(self, items: Items, lanes: Rows, operators: Rows) -> Items:
        """A mutant of each item.

        Args:
            items: ``(n, ...)``, left as they are.
            lanes: whose item each is, int64 ``(n,)``, each at most once.
            operators: the operator's number for each, int64 ``(n,)``.
        """
        ...


class Domain(Protocol):
    """A kind of inputs."""

    #: The mutation operators' names, in the order of their numbers.
    operators: tuple[str, ...]

    def mutations(self, lanes: int, shape: tuple[int, ...], streams: Streams) -> Mutations:
        """The means to mutate the items, each of this shape, of so many lanes."""
        ...

    def cross(self, first: Items, second: Items, rng: np.random.Generator) -> Items:
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
        operators: for each mutator's name the ranges that differ from its published ones.
    """

    def __init__(self, operators: dict[str, dict[str, Any]]) -> None:
        self.operators = tuple(operators)
        self._mutators = list(build_mutators(operators).values())

    def mutations(self, lanes: int, shape: tuple[int, ...], streams: Streams) -> Mutations:
        """See :meth:`Domain.mutations`."""
        return _ImageMutations(self._mutators, lanes, shape, streams)

    def cross(self, first: Items, second: Items, rng: np.random.Generator) -> Items:
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


#: Values of the random numbers that are drawn ahead for one lane and operator.
_VALUES_AHEAD = 4096


class _ImageMutations:
    """A lane draws for all its operators from one stream, for each of them some draws ahead."""

    def __init__(
        self,
        mutators: Sequence[Mutator],
        lanes: int,
        shape: tuple[int, ...],
        streams: Streams,
    ) -> None:
        height, width, channels = shape
        ahead = max(1, _VALUES_AHEAD // (height * width * channels))
        generators: dict[int, np.random.Generator] = {}

        def generator(lane: int) -> np.random.Generator:
            if lane not in generators:
                generators[lane] = streams(lane, "mutations")
            return generators[lane]

        page = (ahead, height, width, channels)
        self._books = [_DrawBook(mutator, lanes, page, generator) for mutator in mutators]

    def apply(self, items: Items, lanes: Rows, operators: Rows) -> Items:
        mutants = np.empty_like(items)
        for number, book in enumerate(self._books):
            chosen = np.flatnonzero(operators == number)
            if len(chosen):
                draws = book.next(lanes[chosen])
                mutants[chosen] = book.mutator.apply(items[chosen], draws)
        return mutants


class _DrawBook:
    """The draws of one operator for all lanes."""

    def __init__(
        self,
        mutator: Mutator,
        lanes: int,
        shape: tuple[int, int, int, int],
        generator: Callable[[int], np.random.Generator],
    ) -> None:
        self.mutator = mutator
        self._shape = shape
        self._generator = generator
        self._pages: dict[str, NDArray[Any]] = {}
        self._position = np.full(lanes, shape[0])

    def next(self, lanes: Rows) -> dict[str, NDArray[Any]]:
        """The next draw of each of these lanes, put together as one batch."""
        for lane in lanes[self._position[lanes] == self._shape[0]]:
            self._turn(int(lane))
        position = self._position[lanes]
        draws = {name: page[lanes, position] for name, page in self._pages.items()}
        self._position[lanes] += 1
        return draws

    def _turn(self, lane: int) -> None:
        draws = self.mutator.draw(self._generator(lane), self._shape)
        for name, values in draws.items():
            if name not in self._pages:
                room = (len(self._position), *values.shape)
                self._pages[name] = np.empty(room, values.dtype)
            self._pages[name][lane] = values
        self._position[lane] = 0
