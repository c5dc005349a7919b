"""Parameters of the attacks and of the other additions to a test set."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from asterism.core.files import NO_FILE, File
from asterism.core.names import named
from asterism.core.params import Distinct, Section


class GradientSignParams(Section):
    """Fast gradient sign method."""

    eps: float = Field(gt=0, le=1, description="largest change of a pixel in [0, 1]")


class BasicIterativeParams(Section):
    """Basic iterative method."""

    eps: float = Field(gt=0, le=1, description="largest change of a pixel in [0, 1]")
    step: float = Field(gt=0, le=1, description="change of a pixel in one iteration")
    iterations: int = Field(ge=1)


class CarliniWagnerParams(Section):
    """Carlini and Wagner's L2 attack."""

    inputs: int | None = Field(
        ge=1, description="inputs to start from; null: as many as the others. It is the slow one"
    )
    confidence: float = Field(ge=0, description="margin by which the wrong class must win")
    learning_rate: float = Field(gt=0, description="of Adam")
    binary_search_steps: int = Field(ge=1, description="trials of the trade-off constant")
    iterations: int = Field(ge=1, description="largest number of Adam's steps in each trial")
    abort_early: bool = Field(description="end an input's trial when its loss stops falling")
    initial_const: float = Field(gt=0, description="first trade-off constant")


class SaliencyMapParams(Section):
    """Jacobian-based saliency map attack."""

    theta: float = Field(gt=0, le=1, description="change of a pixel in one step")
    gamma: float = Field(gt=0, le=1, description="largest share of the pixels that may change")


class NoiseParams(Section):
    """Gaussian white noise."""

    std: float = Field(gt=0, description="standard deviation, of pixels in [0, 1]")


class AttackParams(Section):
    """Which inputs are added to the test set."""

    names: Distinct[Annotated[str, named("asterism.attacks.attack:ATTACKS")]] = Field(
        min_length=1, description="attacks by name, in the order of reports"
    )
    inputs: int = Field(
        ge=1, description="correctly handled test inputs that each attack starts from"
    )
    base_share: float = Field(
        gt=0, lt=1, description="share of the test inputs that is the test set; the rest is a pool"
    )
    batch: int = Field(ge=1, description="inputs attacked at once; results do not depend on it")
    rnn_inputs: int = Field(ge=1, description="inputs of the recurrent network to attack")
    fgsm: GradientSignParams
    bim: BasicIterativeParams
    carlini_wagner: CarliniWagnerParams
    jsma: SaliencyMapParams
    noise: NoiseParams
    semantic: Literal["none", "pool", "file"] = Field(
        description="natural inputs to add: the pool's most different ones, or your own"
    )
    semantic_path: File = Field(
        description="your own: an .npz with uint8 `images`; else conf/no_file"
    )

    @model_validator(mode="after")
    def _own_images_have_a_file(self) -> Self:
        if self.semantic == "file" and self.semantic_path == NO_FILE:
            raise ValueError("semantic is 'file': semantic_path has to name an .npz of your images")
        return self
