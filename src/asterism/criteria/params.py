"""Parameters of the criteria."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from asterism.core.parameters.params import Distinct, ParameterSection
from asterism.core.parameters.validation import Label, named


class CriteriaParams(ParameterSection):
    """Which criteria are measured, and their settings."""

    accepted_by: ClassVar[str | None] = "asterism.criteria.criterion:criterion_options"

    names: Distinct[Annotated[str, named("asterism.criteria.criterion:ACTIVATION_CRITERIA")]] = (
        Field(description="criteria by name, in the order of reports")
    )
    layers: Distinct[str] | None = Field(
        min_length=1,
        description="layers whose neurons count; null: every hidden layer with an activation",
    )
    options: dict[Label, dict[Label, Any]] = Field(
        description="what each criterion takes by its name, see its Options"
    )
