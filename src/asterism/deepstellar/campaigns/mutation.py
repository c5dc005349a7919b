"""Mutation in a campaign: the mutators for a kind of inputs, and how far mutants may be from seeds.

Seeds are images (uint8 ``(N, H, W, C)``), token ids (integers ``(N, T)``) or other numbers
(floating ``(N, T, ...)``). Symbols are those up to the largest in a seed, and 0 fills a row up.
A feature has the range that it has in the seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError, concerning
from asterism.core.randomness.random_streams import Draws, Randomness
from asterism.images import build_mutators
from asterism.images.bounds import acceptable_mutants, are_images
from asterism.tensors import FeatureRange, build_tensor_mutators
from asterism.text import Alphabet, build_text_mutators
from asterism.text.edit_distance import edit_distances

Inputs = NDArray[Any]
Ranges = Mapping[str, Mapping[str, Any]]
#: Which mutants are still close to their references, by shares for few values and for all.
Acceptable = Callable[[Inputs, Inputs, float, float], NDArray[np.bool_]]


class SeedMutator(Protocol):
    """A mutator of one kind of inputs, such as :class:`~asterism.images.Mutator`."""

    #: Whether a mutant is measured against its reference; otherwise that is transformed too.
    pixel_level: ClassVar[bool]

    def draw(self, rng: Randomness, shape: Any, /) -> Draws:
        """Everything random about mutating a batch of this shape."""
        ...

    def apply(self, inputs: Inputs, draws: Draws, /) -> Inputs:
        """Mutants of the inputs, never in place."""
        ...


@dataclass(frozen=True)
class Mutation:
    """How the seeds of a campaign are mutated.

    Attributes:
        mutators: by name.
        acceptable: see :data:`Acceptable`.
    """

    mutators: Mapping[str, SeedMutator]
    acceptable: Acceptable


@dataclass(frozen=True)
class _AgainstSeed:
    """A mutator of tokens or tensors, with what it is told of all seeds.

    Its mutants are measured against the seed.
    """

    draw: Callable[[Randomness, Any], Draws]
    mutate: Callable[[Inputs, Draws, Any], Inputs]
    of_seeds: Alphabet | FeatureRange
    pixel_level: ClassVar[bool] = True

    def apply(self, inputs: Inputs, draws: Draws) -> Inputs:
        return self.mutate(inputs, draws, self.of_seeds)


def mutation_of(seeds: Inputs, ranges: Ranges) -> Mutation:
    """The mutators for these seeds.

    Args:
        seeds: ``(N, ...)``, at least one.
        ranges: mutators by name, with the fields that differ from their own.

    Raises:
        UserError: a mutator that this kind of inputs does not have, or an impossible range.
    """
    kind = "tokens" if seeds.dtype.kind in "iu" else "tensors"
    with concerning("fuzz.mutators"):
        if are_images(seeds):
            return Mutation(build_mutators(ranges), acceptable_mutants)
        try:
            return _of_tokens(seeds, ranges) if kind == "tokens" else _of_tensors(seeds, ranges)
        except UserError as error:
            raise UserError(f"{error}; the seeds are {kind}: choose fuzz={kind}") from error


def _of_tokens(seeds: Inputs, ranges: Ranges) -> Mutation:
    alphabet = Alphabet(int(seeds.max()) + 1, padding=0)
    made = {
        name: _AgainstSeed(mutator.draw, mutator.apply, alphabet)
        for name, mutator in build_text_mutators(ranges, of_bytes=False).items()
    }

    def close(mutants: Inputs, references: Inputs, share: float, _: float) -> NDArray[np.bool_]:
        lengths = alphabet.lengths(references)
        edits = edit_distances(mutants, references, alphabet.lengths(mutants), lengths)
        near: NDArray[np.bool_] = edits <= share * lengths
        return near

    return Mutation(made, close)


def _of_tensors(seeds: Inputs, ranges: Ranges) -> Mutation:
    features = FeatureRange.of(seeds)
    made = {
        name: _AgainstSeed(mutator.draw, mutator.apply, features)
        for name, mutator in build_tensor_mutators(ranges).items()
    }

    def close(mutants: Inputs, references: Inputs, few: float, all_: float) -> NDArray[np.bool_]:
        change = np.abs(mutants.astype(np.float64) - references) / features.width
        change = change.reshape(len(change), -1)
        near: NDArray[np.bool_] = (change > 0).mean(axis=1) <= few
        near |= change.max(axis=1, initial=0) <= all_
        return near

    return Mutation(made, close)
