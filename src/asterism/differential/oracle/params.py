"""Parameters of the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.differential.engine.tolerance import Tolerance

if TYPE_CHECKING:
    from asterism.differential.subjects.model_files import ModelFile
    from asterism.memo.graphs.graph import Graph


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

    def tolerance(self, model: Graph | ModelFile) -> Tolerance:
        """What rounding explains in a model's outputs, by its coarsest dtype and its depth."""
        return Tolerance(self.ulps, self.conditioning, model.epsilon, model.depth)
