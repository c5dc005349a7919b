"""Parameters of reduction."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from asterism.core.files.user_files import File
from asterism.core.parameters.params import Distinct, ParameterSection
from asterism.core.parameters.source import Source
from asterism.core.parameters.validation import named


class ReduceParams(ParameterSection):
    """Seed models and their reduction (Algorithm 1)."""

    models: Annotated[
        Distinct[Annotated[str, named("asterism.memo.reducing.seeds:SEED_MODELS")]],
        Source("MEMO, Algorithm 1"),
    ] = Field(description="seed models by name (docs/libraries.md lists them)", min_length=1)
    user_model: File = Field(
        description="a Keras model file of the user as one more seed; conf/no_file for none"
    )
    open_size: int = Field(
        ge=1, le=512, description="size that stands for an axis that a seed model leaves open"
    )
    timing_runs: int = Field(
        ge=0,
        le=100,
        description="inferences per model for the times in logs/ (0: none are measured)",
    )
