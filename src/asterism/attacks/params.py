"""Parameters of the attacks and of the other augmentations to a test set."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from asterism.core.files.user_files import NO_FILE, File
from asterism.core.parameters.params import Distinct, ParameterSection
from asterism.core.parameters.validation import Label, named


class AttackParams(ParameterSection):
    """Which inputs are added to the test set."""

    accepted_by: ClassVar[str | None] = "asterism.attacks.attack:attack_options"

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
    options: dict[Label, dict[Label, Any]] = Field(
        description="what each attack takes by its name, see its Options"
    )
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
