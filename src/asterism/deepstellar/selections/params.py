"""Parameters of a selection strategy."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from asterism.core.parameters.labels import Label
from asterism.core.parameters.params import ParameterSection, Source
from asterism.core.parameters.validation import named


class SelectionParams(ParameterSection):
    """How the fuzzer chooses parents from its queue."""

    accepted_by: ClassVar[str | None] = "asterism.deepstellar.selections.strategy:configured"

    name: Annotated[
        str,
        named("asterism.deepstellar.selections.strategy:SELECTIONS"),
        Source("DeepHunter, section 3.1"),
    ] = Field(description="a strategy of asterism.deepstellar.selections")
    options: dict[Label, float | int] = Field(description="the strategy's own settings")
