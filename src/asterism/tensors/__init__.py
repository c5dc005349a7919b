"""Floating-point tensors ``(N, ...)`` within the range of what was observed: mutators.

The last axis holds the features, each with a range of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.construction import configure_each
from asterism.core.parameters.registry import Registry
from asterism.core.random_streams import (
    Draws,
    Randomness,
    Ranged,
    draw_standard_normal,
)

Tensors = NDArray[Any]


@dataclass(frozen=True)
class FeatureRange:
    """The range that each feature's values were observed in.

    Attributes:
        low: smallest value of each feature, float64 ``(F,)``.
        high: largest value of each feature, float64 ``(F,)``.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, tensors: Tensors) -> FeatureRange:
        """The range of the features of these tensors ``(N, ..., F)``, N at least 1."""
        values = tensors.reshape(-1, tensors.shape[-1]).astype(np.float64)
        return cls(values.min(axis=0), values.max(axis=0))

    @property
    def width(self) -> NDArray[np.float64]:
        """How wide it is, float64 ``(F,)``; 1 for a feature that never varies."""
        width = self.high - self.low
        return np.where(width > 0, width, 1.0)

    def clipped(self, values: NDArray[np.float64], dtype: np.dtype[Any]) -> Tensors:
        """The values within the range, in this dtype, also after rounding to it."""
        clipped: Tensors = values.astype(dtype)
        np.maximum(clipped, self.low.astype(dtype), out=clipped)
        np.minimum(clipped, self.high.astype(dtype), out=clipped)
        return clipped


class TensorMutator(Ranged, ABC):
    """Turns tensors into mutants of the same shape and dtype, within the range."""

    #: Whether a tensor has so few mutants by it that a search comes to the same ones again.
    few_mutants: ClassVar[bool] = False

    @abstractmethod
    def draw(self, rng: Randomness, shape: tuple[int, ...]) -> Draws:
        """Everything random about mutating a batch of this shape ``(N, ..., F)``."""

    @abstractmethod
    def apply(self, tensors: Tensors, draws: Draws, ranges: FeatureRange) -> Tensors:
        """Mutants of ``tensors`` (floating, ``(N, ..., F)``), never in place."""


TENSOR_MUTATORS: Registry[type[TensorMutator]] = Registry("tensor mutator", "asterism.tensors")

#: Makes mutators: for each one's name the fields that differ from its own ranges.
build_tensor_mutators = partial(configure_each, TENSOR_MUTATORS)


def per_item(values: NDArray[Any], tensors: Tensors) -> NDArray[Any]:
    """One value for each item, ``(N,)``, in a shape that goes with the tensors."""
    return values.reshape(-1, *[1] * (tensors.ndim - 1))


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
        super().__post_init__()
        if self.low < 0:
            raise ValueError(f"a deviation must not be below 0, not {self.low}")

    def draw(self, rng: Randomness, shape: tuple[int, ...]) -> Draws:
        """``deviation``: float64 ``(N,)``; ``noise``: float32 ``(N, ..., F)``."""
        deviation = rng.uniform(self.low, self.high, size=shape[0])
        return {"deviation": deviation, "noise": draw_standard_normal(rng, shape)}

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

    few_mutants: ClassVar[bool] = True

    def draw(self, rng: Randomness, shape: tuple[int, ...]) -> Draws:
        """``feature``: int64 ``(N,)``."""
        return {"feature": rng.integers(0, shape[-1], size=shape[0])}

    def apply(self, tensors: Tensors, draws: Draws, ranges: FeatureRange) -> Tensors:
        """See :meth:`TensorMutator.apply`."""
        zeroed = np.arange(tensors.shape[-1]) == per_item(draws["feature"], tensors)
        return ranges.clipped(np.where(zeroed, 0.0, tensors), tensors.dtype)
