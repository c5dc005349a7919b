"""Parameters of the oracle, and what float arithmetic may differ by from a float64 run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.memo.universe.tensors import EPSILON


@dataclass(frozen=True)
class Tolerance:
    """What float arithmetic may differ by.

    Args:
        ulps: roundings per layer, relative to a value and to its tensor's root mean square.
        conditioning: multiple of ``spread``, what float32's rounding of inputs and weights moves
            an output.
        epsilon: of the coarsest dtype in the model.
        depth: layers on the longest path.
    """

    ulps: float
    conditioning: float
    epsilon: float
    depth: int

    def of(self, reference: NDArray[Any], spread: float) -> NDArray[np.float64]:
        """The tolerance of each element of a float64 reference."""
        size = np.abs(reference)
        finite = np.where(size <= np.finfo(np.float32).max, size, 0.0)  # what the dtype can hold
        scale = finite + np.sqrt(np.mean(finite**2)) if finite.size else finite
        rounding = self.ulps * self.epsilon * max(self.depth, 1) * scale
        coarser = self.epsilon / EPSILON["float32"]
        tolerance: NDArray[np.float64] = rounding + self.conditioning * spread * max(coarser, 1.0)
        return tolerance + np.finfo(np.float32).tiny


class JudgeParams(ParameterSection):
    """The oracle's tolerances. Changing them executes nothing again."""

    ulps: float = Field(
        gt=0,
        description="roundings per layer that a value may be off, relative to its tensor",
    )
    conditioning: float = Field(
        gt=0,
        description="multiple of what float32's rounding of inputs and weights moves the output",
    )

    def tolerance(self, epsilon: float, depth: int) -> Tolerance:
        """What rounding explains in the outputs of a model.

        Args:
            epsilon: of the coarsest dtype in the model.
            depth: layers, or nodes, on the longest path.
        """
        return Tolerance(self.ulps, self.conditioning, epsilon, depth)
