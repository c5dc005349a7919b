"""Parameters of running models in the libraries under test."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from asterism.core.parameters.params import Distinct, ParameterSection
from asterism.core.parameters.validation import accepted_by

Backends = Annotated[
    Distinct[str], accepted_by("asterism.differential.adapters.backend_names:check_backends")
]
#: Kinds of inputs that a model is run on.
InputDistribution = Literal[
    "normal",
    "wide",
    "resized",
    "overwritten",
    "split",
    "lengthened",
    "outside",
    "gradient",
    "weight_gradient",
    "hessian",
    "training",
    "training_adam",
    "nan",
    "infinity",
    "empty",
    "denormal",
    "largest",
]


class ExecuteParams(ParameterSection):
    """Running generated models in the libraries under test."""

    backends: Backends = Field(
        min_length=1,
        description="library:option, as many as wanted (docs/libraries.md lists them)",
    )
    distributions: Distinct[InputDistribution] = Field(
        min_length=1,
        description="inputs of every model: normal, wide; resized, overwritten, split, lengthened, "
        "which are normal ones; outside, a layer of each with an invalid value; questions, asked "
        "with normal ones: gradient, weight_gradient, hessian, training, training_adam; special: "
        "nan, infinity, empty, denormal, largest",
    )
    special_share: float = Field(
        ge=0,
        le=1,
        description="share of the models that also run with one kind of special inputs, drawn "
        "from the seed",
    )
    outside_share: float = Field(
        ge=0,
        le=1,
        description="share of the models of which one layer is also tried with a value that the "
        "universe calls invalid, drawn from the seed",
    )
    hang_seconds: float = Field(
        gt=0, description="a step that takes longer is a hang; generous, so that no sound step is"
    )
    memory_mb: int = Field(
        gt=0, description="a worker that grows by more than this in one step blew up"
    )

    @property
    def more_share(self) -> float:
        """How often a model runs once more than its distributions say, on average."""
        return self.special_share + self.outside_share
