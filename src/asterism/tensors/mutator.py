"""What a mutator of tensors is. The last axis holds the features, each with a range of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.construction import configure
from asterism.core.parameters.registry import Registry
from asterism.core.randomness.batched_draws import Draws, Randomness

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
        low, high = self.low.astype(dtype), self.high.astype(dtype)
        clipped: Tensors = np.clip(values.astype(dtype), low, high)
        return clipped


class TensorMutator(ABC):
    """Turns tensors into mutants of the same shape and dtype, within the range."""

    @abstractmethod
    def draw(self, rng: Randomness, shape: tuple[int, ...]) -> Draws:
        """Everything random about mutating a batch of this shape ``(N, ..., F)``."""

    @abstractmethod
    def apply(self, tensors: Tensors, draws: Draws, ranges: FeatureRange) -> Tensors:
        """Mutants of ``tensors`` (floating, ``(N, ..., F)``), never in place."""


TENSOR_MUTATORS: Registry[type[TensorMutator]] = Registry("tensor mutator", "asterism.tensors")


def build_tensor_mutators(ranges: Mapping[str, Mapping[str, Any]]) -> dict[str, TensorMutator]:
    """Mutators from configuration.

    Args:
        ranges: for each mutator's name the fields that differ from its own ranges.

    Raises:
        UserError: an unknown mutator or field, or an impossible range.
    """
    return {name: configure(TENSOR_MUTATORS, name, fields) for name, fields in ranges.items()}


def per_item(values: NDArray[Any], tensors: Tensors) -> NDArray[Any]:
    """One value for each item, ``(N,)``, in a shape that goes with the tensors."""
    return values.reshape(-1, *[1] * (tensors.ndim - 1))
