"""Parameters of the library lane: running models, judging and triage.

Here is also by what float arithmetic may differ from a float64 run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.files.user_files import File
from asterism.core.parameters.params import Distinct, ParameterSection, Seed
from asterism.core.parameters.validation import accepted_by
from asterism.memo.universe.tensors import EPSILON

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


@dataclass(frozen=True)
class Tolerance:
    """Differences that float arithmetic may make.

    Args:
        ulps: roundings per layer, relative to a value and to its tensor's root mean square.
        conditioning: multiple of ``spread``, what float32's rounding of inputs and weights moves
            an output.
        epsilon: the epsilon of the coarsest dtype in the model.
        depth: layers on the longest path.
    """

    ulps: float
    conditioning: float
    epsilon: float
    depth: int

    def of(self, reference: NDArray[Any], spread: float) -> NDArray[np.float64]:
        """The tolerance of each element of a float64 reference."""
        size = np.abs(reference)
        finite = np.where(size <= np.finfo(np.float32).max, size, 0.0)  # what the dtype can hold
        scale = finite + np.sqrt(np.mean(finite**2)) if finite.size else finite
        rounding = self.ulps * self.epsilon * max(self.depth, 1) * scale
        coarser = self.epsilon / EPSILON["float32"]
        tolerance: NDArray[np.float64] = rounding + self.conditioning * spread * max(coarser, 1.0)
        return tolerance + np.finfo(np.float32).tiny


class JudgeParams(ParameterSection):
    """The oracle's tolerances. Changing them executes nothing again."""

    ulps: float = Field(
        gt=0,
        description="roundings per layer that a value may be off, relative to its tensor",
    )
    conditioning: float = Field(
        gt=0,
        description="multiple of what float32's rounding of inputs and weights moves the output",
    )

    def tolerance(self, epsilon: float, depth: int) -> Tolerance:
        """What rounding explains in the outputs of a model.

        Args:
            epsilon: of the coarsest dtype in the model.
            depth: layers, or nodes, on the longest path.
        """
        return Tolerance(self.ulps, self.conditioning, epsilon, depth)


class TriageParams(ParameterSection):
    """How findings become scripts that reproduce them."""

    max_unique: int = Field(ge=0, description="unique findings that are shrunk and written up")
    max_steps: int = Field(ge=0, description="models tried while one finding is shrunk")
    minutes: float = Field(
        ge=0,
        description="minutes after which no smaller model is tried and no other finding taken up; "
        "the next run resumes there; 0 for no limit",
    )
    hang_seconds: float = Field(
        gt=0, description="while a hang is shrunk, a step that takes longer shows it"
    )
    known_issues: File = Field(
        description="YAML file of what is known: a part of a signature, its link, perhaps a "
        "documented limit; conf/no_file for none"
    )


class TriageSettings(ParameterSection):
    """What triage reads of ``params.yaml``: how findings were made, and its own budgets."""

    seed: Seed
    execute: ExecuteParams
    judge: JudgeParams
    triage: TriageParams
