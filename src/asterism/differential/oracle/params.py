"""Parameters of the oracle."""

from __future__ import annotations

from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.differential.engine.tolerance import Tolerance


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
