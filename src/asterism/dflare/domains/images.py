"""Images and the image mutators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import NoOptions
from asterism.core.random_streams import BatchedStreams
from asterism.dflare.bounds import Bound, Box
from asterism.dflare.domains import (
    DOMAINS,
    UNCHANGED,
    Domain,
    Items,
    Measure,
    Rows,
    changes_by_size,
    require_form,
    shrink_difference,
)
from asterism.dflare.params import BoundParams
from asterism.images import build_mutators, largest_change

#: What a mutator of few mutants draws is an integer of so many bits, or two of them.
_DRAWN_BITS = 24


@DOMAINS.register("images")
class ImageDomain(Domain):
    """Images, uint8 ``(N, H, W, C)``, and the image mutators.

    Args:
        operators: for each mutator's name the options that differ from the mutator's defaults.
        options: there are none.
    """

    measures: ClassVar[Mapping[str, Measure]] = {
        "pixels": Measure("changed pixels"),
        "l2": Measure("grey levels"),
        "linf": Measure("grey levels"),
    }

    def __init__(self, operators: Mapping[str, Mapping[str, Any]], options: NoOptions) -> None:
        super().__init__(operators, options)
        self._mutators = list(build_mutators(operators).values())
        self.few_mutants = np.array([mutator.few_mutants for mutator in self._mutators])

    def require_shape(self, shape: tuple[int, int, int]) -> None:
        """Raise a :class:`UserError` unless every mutator can mutate images ``(H, W, C)``."""
        for name, mutator in zip(self.operators, self._mutators, strict=True):
            if reason := mutator.misfit(shape):
                raise UserError(f"trigger.operators.{name}.{reason}")

    def prepare(self, items: Items) -> None:
        """See :meth:`Domain.prepare`."""
        require_form(items, "images", "uint8 (N, H, W, C)", rank=4, dtypes="u")
        height, width, channels = items.shape[1:]
        self.require_shape((height, width, channels))

    def mutate_by(self, operator: int, items: Items, streams: BatchedStreams) -> Items:
        """See :meth:`Domain.mutate_by`."""
        mutator = self._mutators[operator]
        height, width, channels = items.shape[1:]
        return mutator.apply(items, mutator.draw(streams, (len(items), height, width, channels)))

    def variants(self, shape: tuple[int, ...], operators: Rows, streams: BatchedStreams) -> Rows:
        """See :meth:`Domain.variants`; told where a mutator has few mutants."""
        variants = np.full(len(operators), -1)
        height, width, channels = shape
        for number in np.flatnonzero(self.few_mutants).tolist():
            (rows,) = (operators == number).nonzero()
            mutator = self._mutators[number]
            draws = mutator.draw(streams.of(rows), (len(rows), height, width, channels))
            folded: Any = np.int64(number + 1)  # above UNCHANGED
            for drawn in draws.values():
                folded = (folded << _DRAWN_BITS) + drawn + (1 << _DRAWN_BITS - 1)
            variants[rows] = np.where(mutator.unchanged(draws), UNCHANGED, folded)
        return variants

    def crossover(self, first: Items, second: Items, rng: np.random.Generator) -> Items:
        """Each pixel comes from either parent with equal chance."""
        from_second = rng.random(first.shape[:-1], dtype=np.float32) < 0.5
        return np.where(from_second[..., np.newaxis], second, first)

    def distance(self, items: Items, references: Items, measure: str) -> NDArray[np.float64]:
        """Changed pixels, or L2 or L∞ distance in grey levels."""
        if measure == "linf":
            return largest_change(items, references).astype(np.float64)
        if measure == "l2":
            difference = (items.astype(np.int64) - references).reshape(len(items), -1)
            return np.asarray(np.sqrt((difference**2).sum(axis=1, dtype=np.float64)), np.float64)
        changed = (items != references).any(axis=-1).reshape(len(items), -1)
        return np.asarray(changed.sum(axis=1), np.float64)

    def changes(self, item: Items, reference: Items) -> Rows:
        """Numbers of the pixels ``(row * W + column)`` that changed in any channel."""
        return changes_by_size(np.abs(item.astype(np.int64) - reference).max(axis=-1).ravel())

    def revert(self, item: Items, reference: Items, places: Rows) -> Items:
        """See :meth:`Domain.revert`."""
        reverted = item.copy().reshape(-1, item.shape[-1])
        reverted[places] = reference.reshape(reverted.shape)[places]
        return reverted.reshape(item.shape)

    def fade(self, items: Items, references: Items, share: NDArray[np.float64]) -> Items:
        """The images between, with grey levels rounded."""
        return np.rint(shrink_difference(items, references, share)).astype(np.uint8)

    def bound_around(self, references: Items, chosen: BoundParams) -> Bound:
        """See :meth:`Domain.bound_around`; L∞ clips grey levels."""
        if chosen.measure != "linf":
            return super().bound_around(references, chosen)
        levels, exact = int(min(chosen.limit, 255)), references.astype(np.int16)
        low, high = np.maximum(exact - levels, 0), np.minimum(exact + levels, 255)
        return Box(low.astype(np.uint8), high.astype(np.uint8))

    def project(self, items: Items, references: Items, measure: str, limit: float) -> Items:
        """See :meth:`Domain.project`; L2 scales the difference, rounded towards 0."""
        if measure == "l2":
            length = np.maximum(self.distance(items, references, "l2"), 1e-9)
            kept = (
                shrink_difference(items, references, np.minimum(1.0, limit / length)) - references
            )
            # The smallest amount more: a difference that is kept whole is not rounded away.
            levels_kept: NDArray[np.float64] = np.trunc(kept + np.sign(kept) * 1e-9)
            return (references + levels_kept).astype(np.uint8)
        return items
