"""Parameters of models and their training."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from asterism.core.params import Section

Units = Annotated[int, Field(ge=1)]


class TrainingParams(Section):
    """How a model is trained."""

    optimizer: str = Field(description="a Keras optimiser by its lower-case name")
    learning_rate: float = Field(gt=0)
    batch_size: int = Field(ge=1)
    epochs: int = Field(ge=1)


class TrainedRnn(Section):
    """A recurrent network that the pipeline trains."""

    source: Literal["train"]
    path: str = Field(description="no file of the user's: the placeholder conf/no_file")
    cell: Literal["lstm", "gru", "simple_rnn"]
    units: list[Units] = Field(min_length=1, description="units of each recurrent layer in turn")
    training: TrainingParams


class RnnFile(Section):
    """The user's own recurrent network."""

    source: Literal["file"]
    path: str = Field(description="a .keras, .h5 or .onnx file")
    layer: str | None = Field(description="layer to profile; null: the last recurrent one")


RnnParams = Annotated[TrainedRnn | RnnFile, Field(discriminator="source")]
