"""Changes of values: noise, scaling, and zeroing of features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asterism.core.randomness.batched_draws import Draws, Randomness, require_range, standard_normal
from asterism.tensors.mutator import (
    TENSOR_MUTATORS,
    FeatureRange,
    TensorMutator,
    Tensors,
    per_item,
)


@TENSOR_MUTATORS.register("noise")
@dataclass(frozen=True)
class TensorNoise(TensorMutator):
    """Adds normal noise to every value.

    Attributes:
        low: smallest standard deviation as a share of the feature's range, at least 0.
        high: largest standard deviation.
    """

    low: float = 0.005
    high: float = 0.1

    def __post_init__(self) -> None:
        require_range(self, self.low, self.high)
        if self.low < 0:
            raise ValueError(f"a deviation must not be below 0, not {self.low}")

    def draw(self, rng: Randomness, shape: tuple[int, ...]) -> Draws:
        """``deviation``: float64 ``(N,)``; ``noise``: float32 ``(N, ..., F)``."""
        deviation = rng.uniform(self.low, self.high, size=shape[0])
        return {"deviation": deviation, "noise": standard_normal(rng, shape)}

    def apply(self, tensors: Tensors, draws: Draws, ranges: FeatureRange) -> Tensors:
        """See :meth:`TensorMutator.apply`."""
        noise = draws["noise"] * (per_item(draws["deviation"], tensors) * ranges.width)
        return ranges.clipped(tensors + noise, tensors.dtype)


@TENSOR_MUTATORS.register("scale")
@dataclass(frozen=True)
class TensorScale(TensorMutator):
    """Multiplies all values of an item by one factor.

    Attributes:
        low: smallest factor.
        high: largest factor.
    """

    low: float = 0.8
    high: float = 1.25

    def __post_init__(self) -> None:
        require_range(self, self.low, self.high)

    def draw(self, rng: Randomness, shape: tuple[int, ...]) -> Draws:
        """``factor``: float64 ``(N,)``."""
        return {"factor": rng.uniform(self.low, self.high, size=shape[0])}

    def apply(self, tensors: Tensors, draws: Draws, ranges: FeatureRange) -> Tensors:
        """See :meth:`TensorMutator.apply`."""
        return ranges.clipped(tensors * per_item(draws["factor"], tensors), tensors.dtype)


@TENSOR_MUTATORS.register("zero_feature")
@dataclass(frozen=True)
class ZeroFeature(TensorMutator):
    """Sets a feature to 0 everywhere in an item, or to what is nearest to 0 in its range."""

    def draw(self, rng: Randomness, shape: tuple[int, ...]) -> Draws:
        """``feature``: int64 ``(N,)``."""
        return {"feature": rng.integers(0, shape[-1], size=shape[0])}

    def apply(self, tensors: Tensors, draws: Draws, ranges: FeatureRange) -> Tensors:
        """See :meth:`TensorMutator.apply`."""
        zeroed = np.arange(tensors.shape[-1]) == per_item(draws["feature"], tensors)
        return ranges.clipped(np.where(zeroed, 0.0, tensors), tensors.dtype)
