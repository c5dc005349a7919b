"""Making mutants: which mutators a lineage may take, and which mutants are acceptable.

Mutators come in two classes (section 5, after DeepHunter, ISSTA 2019, section 3.2). A mutant by
pixel changes or noise is accepted when it stays close to the lineage's reference image. Of the
others, transformations of the whole picture, a lineage may hold one at most; it is applied to the
reference image too, so that later pixel changes are measured against the transformed seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError, prefix_errors
from asterism.core.random_streams import Draws, Randomness
from asterism.deepstellar.params import FuzzParams
from asterism.images import (
    acceptable_mutants,
    are_images,
    build_mutators,
    concatenate_draws,
    differing_inputs,
    take_draws,
)
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
        """Draw all random numbers for mutating a batch of this shape."""

    def apply(self, inputs: Inputs, draws: Draws, /) -> Inputs:
        """Mutants of the inputs, which stay unchanged."""


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


def build_mutation(seeds: Inputs, ranges: Ranges) -> Mutation:
    """The mutators for these seeds.

    Args:
        seeds: ``(N, ...)``, at least one.
        ranges: mutators by name, with the fields that differ from their own.

    Raises:
        UserError: a mutator that this kind of inputs does not have, or an impossible range.
    """
    kind = "tokens" if seeds.dtype.kind in "iu" else "tensors"
    with prefix_errors("fuzz.mutators"):
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
        return edits <= share * lengths

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


@dataclass(frozen=True)
class Lineages:
    """Inputs, mostly images, and for each the reference that its mutants are compared with.

    Attributes:
        images: ``(N, ...)``, images uint8 ``(N, H, W, C)``.
        references: ``(N, ...)``, the seed, transformed where its lineage is.
        transformed: bool ``(N,)``, whether the lineage holds its one transformation.
    """

    images: Inputs
    references: Inputs
    transformed: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.images)

    def only(self, rows: NDArray[np.int64] | slice) -> Lineages:
        """The lineages at some positions."""
        return Lineages(self.images[rows], self.references[rows], self.transformed[rows])


@dataclass(frozen=True)
class Offspring:
    """Mutants and their descent.

    Attributes:
        lineages: the mutants.
        parents: int64 ``(M,)``, each one's parent among those given.
        mutators: int16 ``(M,)``, number of the mutator that made it.
    """

    lineages: Lineages
    parents: NDArray[np.int64]
    mutators: NDArray[np.int16]


class MutantMaker:
    """Makes one mutant of each parent.

    Args:
        mutation: mutators by name, whose order gives them their numbers, and how far they may
            lead.
        weights: how often each is drawn relative to the others, 1 where not named.
        attempts: tries to make an acceptable mutant of a parent.
        l0_share: share of an input that may change by any amount; of images see
            :func:`~asterism.images.acceptable_mutants`.
        linf_share: share of the range by which all of it may change.
    """

    def __init__(
        self,
        mutation: Mutation,
        weights: Mapping[str, float],
        attempts: int,
        l0_share: float,
        linf_share: float,
    ) -> None:
        self.names = list(mutation.mutators)
        self._mutators = list(mutation.mutators.values())
        self._close = mutation.acceptable
        self._attempts = attempts
        self._l0_share, self._linf_share = l0_share, linf_share
        self._pixel_level = np.array([m.pixel_level for m in self._mutators])
        every = np.array([weights.get(name, 1.0) for name in self.names])
        self._weights = {False: every, True: every * self._pixel_level}

    @classmethod
    def configured(cls, params: FuzzParams, seeds: Inputs) -> MutantMaker:
        """The mutant maker that the parameters describe, for seeds ``(N, ...)``.

        Raises:
            UserError: a mutator that is unknown or of another kind of inputs, or an impossible
                range.
        """
        mutation = build_mutation(seeds, params.mutators)
        return cls(mutation, params.weights, params.attempts, params.l0_share, params.linf_share)

    def make(self, parents: Lineages, rng: np.random.Generator) -> Offspring:
        """Mutants of the parents, in order; parents without a successful attempt get none."""
        images, references = parents.images.copy(), parents.references.copy()
        transformed = parents.transformed.copy()
        mutators = np.full(len(parents), -1, np.int16)
        pending = np.arange(len(parents))
        for _ in range(self._attempts):
            drawn = self._draw(parents.transformed[pending], rng)
            for number in np.unique(drawn[drawn >= 0]):
                rows = pending[drawn == number]
                mutants = self._mutate(parents.only(rows), int(number), rng)
                good = self._acceptable(mutants, parents.images[rows], int(number))
                kept = rows[good]
                images[kept], references[kept] = mutants.images[good], mutants.references[good]
                transformed[kept] = mutants.transformed[good]
                mutators[kept] = number
            pending = pending[mutators[pending] < 0]
            if not len(pending):
                break
        made = np.flatnonzero(mutators >= 0)
        return Offspring(Lineages(images, references, transformed).only(made), made, mutators[made])

    def _draw(self, transformed: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
        """A mutator's number for each lineage, -1 where none is allowed any more."""
        chance = rng.random(len(transformed))
        drawn = np.full(len(transformed), -1, np.int64)
        for already, weights in self._weights.items():
            rows = transformed == already
            if weights.any():
                cumulative = np.cumsum(weights) / weights.sum()
                drawn[rows] = np.searchsorted(cumulative, chance[rows], side="right")
        return drawn

    def _mutate(self, parents: Lineages, number: int, rng: np.random.Generator) -> Lineages:
        mutator = self._mutators[number]
        draws = mutator.draw(rng, parents.images.shape)
        if mutator.pixel_level:
            mutants = mutator.apply(parents.images, draws)
            return Lineages(mutants, parents.references, parents.transformed)
        # A reference that equals its image need not be transformed a second time.
        differ = np.flatnonzero(differing_inputs(parents.images, parents.references))
        both = mutator.apply(
            np.concatenate([parents.images, parents.references[differ]]),
            concatenate_draws([draws, take_draws(draws, differ)]),
        )
        mutants = both[: len(parents)]
        references = mutants.copy()
        references[differ] = both[len(parents) :]
        return Lineages(mutants, references, np.ones(len(parents), np.bool_))

    def _acceptable(self, mutants: Lineages, parents: Inputs, number: int) -> NDArray[np.bool_]:
        """What changed at all and, if by pixels or noise, is still close to its reference."""
        changed = differing_inputs(mutants.images, parents)
        if not self._pixel_level[number]:
            return changed
        return changed & self._close(
            mutants.images, mutants.references, self._l0_share, self._linf_share
        )
