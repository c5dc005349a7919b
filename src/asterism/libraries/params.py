"""Parameters of execution, the oracle and triage."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from asterism.core.files import File
from asterism.core.params import Distinct, Section
from asterism.memo.params import Routes

#: Kinds of inputs that a model is run on.
Draw = Literal["normal", "wide", "gradient", "nan", "infinity", "empty"]


class ExecuteParams(Section):
    """Running generated models in the libraries under test."""

    routes: Routes = Field(
        min_length=1,
        description="library:option, as many as wanted (docs/libraries.md lists them)",
    )
    draws: Distinct[Draw] = Field(
        min_length=1, description="inputs: normal, wide, gradient; special: nan, infinity, empty"
    )
    hang_seconds: float = Field(
        gt=0, description="a step that takes longer is a hang; generous, so that no sound step is"
    )
    memory_mb: int = Field(
        gt=0, description="a worker that grows by more than this in one step blew up"
    )


class JudgeParams(Section):
    """The oracle's tolerances. Changing them executes nothing again."""

    ulps: float = Field(
        gt=0, description="roundings per layer that a value may be off, relative to its tensor"
    )
    conditioning: float = Field(
        gt=0,
        description="multiple of what float32's rounding of inputs and weights moves the output",
    )


class TriageParams(Section):
    """From findings to reproducers."""

    max_unique: int = Field(ge=0, description="unique findings that are shrunk and written up")
    max_steps: int = Field(ge=0, description="models tried while one finding is shrunk")
    hang_seconds: float = Field(
        gt=0, description="while a hang is shrunk, a step that takes longer shows it"
    )
    known_issues: File = Field(
        description="YAML file of issues seen before (signature: link); conf/no_file for none"
    )
