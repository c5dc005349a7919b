"""Parameters of triage."""

from __future__ import annotations

from pydantic import Field

from asterism.core.files.user_files import File
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.differential.engine.params import ExecuteParams
from asterism.differential.oracle.params import JudgeParams


class TriageParams(ParameterSection):
    """From findings to reproducers."""

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
