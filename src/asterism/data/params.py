"""Parameters of the data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from asterism.core.files.user_files import File
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.validation import named


class DataParams(ParameterSection):
    """Which images, or other inputs, the pipeline works on."""

    accepted_by: ClassVar[str | None] = "asterism.data.dataset:require_no_idle_file"

    name: Annotated[str, named("asterism.data.dataset:SOURCES")] = Field(
        description="source of the images: a module of asterism.data.sources"
    )
    path: File = Field(description="the user's own file, for sources that read one")
    train: int | None = Field(ge=1, description="use only the first n training images; null: all")
    test: int | None = Field(ge=1, description="use only the first n test images; null: all")
