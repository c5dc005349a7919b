"""Plain tensors within the range that was observed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.core.random_streams import BatchedStreams
from asterism.dflare.domains import (
    DOMAINS,
    Items,
    Measure,
    Rows,
    changes_by_size,
    require_form,
)
from asterism.dflare.domains.floats import FloatDomain
from asterism.tensors import FeatureRange, build_tensor_mutators


@DOMAINS.register("tensors")
class TensorDomain(FloatDomain):
    """Floating-point tensors ``(N, ..., F)``, each feature within its range.

    Args:
        operators: for each mutator's name the options that differ from the mutator's defaults.
        options: the range; what it leaves open is learnt by :meth:`prepare`.
    """

    class Options(ParameterSection):
        """The range of each feature, a place along the last axis."""

        low: list[float] | None = Field(
            description="smallest value of each feature, or one for all; null: that of the inputs"
        )
        high: list[float] | None = Field(
            description="largest value of each feature, or one for all; null: that of the inputs"
        )

    measures: ClassVar[Mapping[str, Measure]] = {
        "l2": Measure("ranges of a feature"),
        "linf": Measure("ranges of a feature"),
    }

    def __init__(self, operators: Mapping[str, Mapping[str, Any]], options: Options) -> None:
        super().__init__(operators, options)
        self._mutators = list(build_tensor_mutators(operators).values())
        self.few_mutants = np.array([mutator.few_mutants for mutator in self._mutators])
        self._ranges: FeatureRange | None = None

    def prepare(self, items: Items) -> None:
        """See :meth:`Domain.prepare`."""
        require_form(items, "tensors", "floating (N, ..., F)", rank=None, dtypes="f")
        finite = np.isfinite(items).reshape(len(items), -1).all(axis=1)
        if not len(items) or not finite.all():
            where = f": input {finite.argmin()} has others" if len(items) else ""
            raise UserError(
                f"inputs of kind tensors should be at least one, all values finite{where}"
            )
        seen = FeatureRange.of(items)
        low, high = (
            _of_features(name, given, observed)
            for name, given, observed in (
                ("low", self.options.low, seen.low),
                ("high", self.options.high, seen.high),
            )
        )
        if (low > seen.low).any() or (high < seen.high).any():
            raise UserError(
                f"low and high are a narrower range than the inputs' {seen.low.min():g} to "
                f"{seen.high.max():g}; null takes the inputs' own"
            )
        self._ranges = FeatureRange(low, high)

    @property
    def ranges(self) -> FeatureRange:
        """The range of each feature.

        Raises:
            RuntimeError: :meth:`prepare` was not called.
        """
        if self._ranges is None:
            raise RuntimeError("the domain of tensors has seen no inputs yet: call prepare")
        return self._ranges

    def mutate_by(self, operator: int, items: Items, streams: BatchedStreams) -> Items:
        """See :meth:`Domain.mutate_by`."""
        mutator = self._mutators[operator]
        return mutator.apply(items, mutator.draw(streams, items.shape), self.ranges)

    def crossover(self, first: Items, second: Items, rng: np.random.Generator) -> Items:
        """Each value comes from either parent with equal chance."""
        return np.where(rng.random(first.shape, dtype=np.float32) < 0.5, second, first)

    def distance(self, items: Items, references: Items, measure: str) -> NDArray[np.float64]:
        """L2 or L∞ distance in units of the features' ranges."""
        parts = self._in_ranges(items, references).reshape(len(items), -1)
        if measure == "linf":
            return np.asarray(np.abs(parts).max(axis=1, initial=0), np.float64)
        return np.asarray(np.sqrt(np.square(parts).sum(axis=1)), np.float64)

    def changes(self, item: Items, reference: Items) -> Rows:
        """Numbers of the values that changed, counted along the flattened item."""
        return changes_by_size(np.abs(self._in_ranges(item, reference)).ravel())

    def revert(self, item: Items, reference: Items, places: Rows) -> Items:
        """See :meth:`Domain.revert`."""
        reverted = item.copy().reshape(-1)
        reverted[places] = reference.reshape(-1)[places]
        return reverted.reshape(item.shape)

    def reach(self, limit: float) -> NDArray[np.float64]:
        """See :meth:`FloatDomain.reach`."""
        # A trifle less, so that dividing by the range gives the limit at most.
        return limit * self.ranges.width * (1 - 1e-12)

    def shares_within(
        self, items: Items, references: Items, measure: str, limit: float
    ) -> NDArray[np.float64]:
        """See :meth:`FloatDomain.shares_within`."""
        length = np.maximum(self.distance(items, references, measure), 1e-300)
        return np.where(length > limit, limit / length * (1 - 1e-9), 1.0)

    def _in_ranges(self, items: Items, references: Items) -> NDArray[np.float64]:
        """Differences in units of the features' ranges."""
        difference: NDArray[np.float64] = items.astype(np.float64) - references
        return difference / self.ranges.width


def _of_features(
    name: str, given: list[float] | None, observed: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A range's end for each feature, ``(F,)``."""
    if given is None:
        return observed
    if len(given) not in (1, len(observed)):
        raise UserError(f"{name} has {len(given)} values, but the inputs {len(observed)} features")
    return np.broadcast_to(np.array(given, np.float64), observed.shape)
