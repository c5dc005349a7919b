"""Parameters of the criteria."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from asterism.core.names import named
from asterism.core.params import Distinct, Section


class CriteriaParams(Section):
    """Which criteria are measured, and their settings."""

    names: Distinct[Annotated[str, named("asterism.criteria.criterion:CRITERIA")]] = Field(
        description="criteria by name, in the order of reports"
    )
    layers: Distinct[str] | None = Field(
        min_length=1,
        description="layers whose neurons count; null: every hidden layer with an activation",
    )
    neuron_threshold: float = Field(description="a neuron above it is covered (neuron coverage)")
    neuron_scaled: bool = Field(
        description="scale each input's activations to [0, 1] within their layer before that"
    )
    sections: int = Field(ge=1, description="sections of each neuron's range (k-multisection)")
    top_k: int = Field(ge=1, description="most active neurons of a layer (TKNC, TKNP)")
    surprise_buckets: int = Field(ge=1, description="buckets of the range of surprise")
    lsc_upper: float | None = Field(
        description="largest likelihood surprise that counts, above the training inputs' smallest; "
        "null: as far beyond their largest as that is from their smallest"
    )
    dsc_upper: float = Field(gt=0, description="largest distance surprise that counts")
    surprise_min_variance: float = Field(
        ge=0, description="neurons that vary less over a class are left out of its density"
    )
