"""Parameters of reduction."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from asterism.core.files.user_files import File
from asterism.core.parameters.params import Distinct, PaperSource, ParameterSection
from asterism.core.parameters.validation import Label, named

#: Sizes of an input, without the batch.
Shape = Annotated[list[Annotated[int, Field(ge=1, le=1_000_000)]], Field(min_length=1)]


class ReduceParams(ParameterSection):
    """Seed models and their reduction (Algorithm 1)."""

    models: Annotated[
        Distinct[Annotated[str, named("asterism.differential.reducing.seed_models:SEED_MODELS")]],
        PaperSource("MEMO, Algorithm 1"),
    ] = Field(description="seed models by name (docs/libraries.md lists them)", min_length=1)
    user_model: File = Field(
        description="a Keras model file of the user as one more seed, or a folder of such files; "
        "conf/no_file for none"
    )
    user_input_shape: Shape | dict[Label, Shape | dict[Label, Shape]] | None = Field(
        description="shape of the inputs of the user's models, without the batch, where they "
        "leave sizes open; or shapes by model, or by model and input; null: those are `open_size`"
    )
    open_size: int = Field(
        ge=1, le=512, description="size that stands for an axis that a seed model leaves open"
    )
    max_width: int | None = Field(
        ge=8,
        le=65_536,
        description="channels or units of the widest layer of a listed seed model: wider ones are "
        "narrowed to it, as width costs time and finds little; null: none are, as in the paper",
    )
    reduced: bool = Field(
        description="whether layers are taken out; false keeps each model whole, as MEMO's "
        "section 4.4 does for comparison"
    )
    timing_runs: int = Field(
        ge=0,
        le=100,
        description="inferences per model for the times in logs/ (0: none are measured)",
    )
