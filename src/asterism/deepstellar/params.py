"""Parameters of the stateful lane."""

from __future__ import annotations

from pydantic import Field

from asterism.core.params import Section


class AbstractionParams(Section):
    """How hidden states become abstract states."""

    k: int = Field(ge=1, description="principal components kept")
    m: int = Field(ge=1, description="equal intervals over each component's range")
    bits: int = Field(ge=2, le=62, description="bits of a state's code for each component")
    n_step: int = Field(
        ge=1, description="Manhattan distance up to which unvisited states count as boundary"
    )


class CoverageParams(Section):
    """How sets of inputs are measured."""

    references: int = Field(
        ge=1, description="training inputs of each class that traces are compared with"
    )
