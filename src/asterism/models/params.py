"""Parameters of models and their training."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from asterism.core.files.user_files import File, no_file
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.validation import named

#: The optimisers that Keras makes of their lower-case names, and one more.
Optimizer = Literal[
    "adadelta",
    "adafactor",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "ftrl",
    "lion",
    "muon",
    "nadam",
    "rmsprop",
    "schedulefreeadamw",
    "sgd",
    "nesterov_sgd",
]

Units = Annotated[int, Field(ge=1)]
TrainedBy = Annotated[
    Literal["keras", "torch"],
    Field(description="the library that trains it; the stored network is Keras' either way"),
]


class TrainingParams(ParameterSection):
    """How a model is trained."""

    optimizer: Optimizer = Field(
        description="a Keras optimiser by its lower-case name, or nesterov_sgd: SGD with Nesterov "
        "momentum of 0.9 and weight decay, as residual networks are trained"
    )
    learning_rate: float = Field(gt=0, description="the optimiser's step size")
    batch_size: int = Field(ge=1, description="inputs of a step")
    epochs: int = Field(ge=1, description="passes over the training inputs")


class TrainedRnn(ParameterSection):
    """A recurrent network that the pipeline trains."""

    source: Literal["train"] = Field(description="the pipeline trains it")
    path: Annotated[str, no_file(instead="rnn=file")] = Field(
        description="no file of the user's: the placeholder conf/no_file"
    )
    cell: Literal["lstm", "gru", "simple_rnn"] = Field(description="kind of recurrent layer")
    trained_by: TrainedBy
    units: list[Units] = Field(min_length=1, description="units of each recurrent layer in turn")
    training: TrainingParams


class RnnFile(ParameterSection):
    """The user's own recurrent network."""

    source: Literal["file"] = Field(description="it is a file of yours")
    path: File = Field(description="a .keras, .h5, .hdf5, .onnx or .pt2 file")
    layer: str | None = Field(description="layer to profile; null: the last recurrent one")


RnnParams = Annotated[TrainedRnn | RnnFile, Field(discriminator="source")]


class ClassifierParams(ParameterSection):
    """The image classifier that the pipeline trains."""

    source: Literal["train"] = Field(description="the pipeline trains it")
    path: Annotated[str, no_file(instead="classifier=file")] = Field(
        description="no file of the user's: the placeholder conf/no_file"
    )
    weights: Annotated[str, no_file(instead="classifier=file")] = Field(
        description="no file of the user's: the placeholder conf/no_file"
    )
    architecture: Annotated[str, named("asterism.models.architectures:ARCHITECTURES")] = Field(
        description="a module's function in asterism.models.architectures"
    )
    trained_by: TrainedBy
    training: TrainingParams
    learning_rate_drops: list[Annotated[int, Field(ge=1)]] = Field(
        description="after these numbers of epochs the learning rate falls to a tenth"
    )
    learning_rate_decay: float = Field(
        ge=0, description="the learning rate is divided by 1 + this × the steps taken so far"
    )
    augment: bool = Field(description="train on images shifted by up to an eighth and mirrored")
    precision: Literal["float32", "bfloat16"] = Field(
        description="of convolutions and products in training by torch; bfloat16 takes two thirds "
        "of the time on processors that have it. Weights are float32 either way"
    )

    @model_validator(mode="after")
    def _half_precision_by_torch(self) -> Self:
        if self.precision != "float32" and self.trained_by != "torch":
            raise ValueError("precision: Keras trains in float32 here: choose trained_by: torch")
        return self


class ClassifierFile(ParameterSection):
    """The user's own Keras classifier."""

    source: Literal["file"] = Field(description="it is a file of yours")
    path: File = Field(description="a .keras, .h5 or .hdf5 file, or Keras 2's .json")
    weights: File = Field(
        description="a .json's weights, beside it under the same name as .h5; else conf/no_file"
    )


AnyClassifierParams = Annotated[ClassifierParams | ClassifierFile, Field(discriminator="source")]
