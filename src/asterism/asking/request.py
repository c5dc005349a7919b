"""What the command line asks for, before anything is settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.data.given.reading import Arrays
from asterism.dvc_hydra.overrides import hydra_value
from asterism.models.tensor_models.subjects import Subject, subject_of
from asterism.vetting.opening import GivenPair


@dataclass(frozen=True, kw_only=True)
class VetRequest:
    """What the command line asks for; None is settled by looking at the files.

    Attributes:
        original: the original, or its file.
        compressed: the compressed model, or its file.
        inputs: a file, a folder, or arrays.
        kind: of the inputs.
        comparison: of the outputs.
        options: of the comparison.
        labels: a file of labels.
        preprocessing: a choice of ``conf/preprocessing``, for images.
        constants: ``NAME=NUMBER`` or ``NAME=ROLE``, values of further inputs.
        minutes: that the answer may take.
        overrides: further overrides of Hydra.
        earlier: the certificate of an earlier run, which may have left something out of the same
            question; there may be no such file.
    """

    original: Path | Subject
    compressed: Path | Subject
    inputs: Path | Arrays
    kind: str | None = None
    comparison: str | None = None
    options: Mapping[str, Any] | None = None
    labels: Path | None = None
    preprocessing: str | None = None
    constants: Sequence[str] = ()
    minutes: float | None = None
    overrides: Sequence[str] = ()
    earlier: Path | None = None

    @property
    def given(self) -> GivenPair:
        """The pair and its inputs."""
        return GivenPair(subject_of(self.original), subject_of(self.compressed), self.inputs)

    def words(self) -> list[str]:
        """What the command line says beside the files, so that the same can be asked again."""
        flags = {
            "--kind": self.kind,
            "--comparison": self.comparison,
            "--preprocessing": self.preprocessing,
            "--minutes": None if self.minutes is None else f"{self.minutes:g}",
        }
        found = [word for flag, told in flags.items() if told for word in (flag, told)]
        overrides = list(self.overrides)
        if self.options is not None:  # there is no flag for them
            options = f"+vet.comparison.options={hydra_value(self.options)}"
            overrides = ["~vet.comparison.options", options, *overrides]
        for flag, several in (("--constant", self.constants), ("-S", overrides)):
            found += [word for told in several for word in (flag, told)]
        return found

    def settles(self, key: str) -> bool:
        """Whether an override of the command line says something of a parameter."""
        keys = [override.partition("=")[0].lstrip("+~") for override in self.overrides]
        return any(own == key or own.startswith(f"{key}.") for own in keys)
