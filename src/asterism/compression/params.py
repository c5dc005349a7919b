"""Parameters of compression."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.validation import Label, named


class CompressionParams(ParameterSection):
    """One compressed model to make; its key in ``params.yaml`` names it."""

    accepted_by: ClassVar[str | None] = "asterism.compression.methods:method_options"

    method: Annotated[str, named("asterism.compression.methods:COMPRESSORS")] = Field(
        description="a compressor of asterism.compression.methods"
    )
    options: dict[Label, Any] = Field(description="what this method takes, see its Options")
