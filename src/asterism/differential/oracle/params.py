"""Parameters of the oracle."""

from __future__ import annotations

from typing import Protocol

from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.differential.engine.tolerance import Tolerance


class RoundedModel(Protocol):
    """What a tolerance depends on of a model: the coarsest dtype's rounding, and how deep it is."""

    @property
    def epsilon(self) -> float:
        """The relative rounding of the coarsest dtype."""

    @property
    def depth(self) -> int:
        """Layers, or nodes, on the longest path."""


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

    def tolerance(self, model: RoundedModel) -> Tolerance:
        """What rounding explains in a model's outputs."""
        return Tolerance(self.ulps, self.conditioning, model.epsilon, model.depth)
