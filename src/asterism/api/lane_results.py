"""Results of a lane, asked from Python: the verdict and the page."""

from __future__ import annotations

import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.report.base.document import write_document
from asterism.report.base.section import ReportSection, Step
from asterism.report.lanes import SECTIONS


class LaneResult(ABC):
    """What a lane measured, which is written as the lane's stages write it when a page is wanted.

    Attributes:
        values: the lane's numbers, by their names.
        notes: of the device that the model ran on, if that is no processor.
    """

    #: The report's section that shows it.
    _lane: ClassVar[str]

    values: Mapping[str, float]
    notes: tuple[str, ...]

    @abstractmethod
    def _write(self, workspace: Path) -> ParameterSection:
        """Write metrics, plots and artifacts as the stages do; the parameters behind them."""

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        return self._section.answers[0].sentence

    def page(self, path: str | Path) -> Path:
        """Write the page of all that was measured.

        Args:
            path: the file, ``.html``; one that is there is replaced.
        """
        note = Step(f"The model {' and '.join(self.notes)}.") if self.notes else None
        write_document(Path(path), [self._section], sweeps="", note=note)
        return Path(path)

    def __repr__(self) -> str:
        """The verdict and all values; without a verdict the reason."""
        try:
            numbers = (f"{name}: {value:.4g}" for name, value in self.values.items())
            lines = [f"verdict: {self.verdict}", *numbers]
        except UserError as error:
            lines = [f"no verdict: {error}"]
        return "\n  ".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        """The verdict and all values, for a notebook."""
        from markupsafe import Markup

        row = Markup("<tr><td>{}</td><td>{:.4g}</td></tr>")
        rows = Markup("").join(row.format(name, value) for name, value in self.values.items())
        told = "; ".join([self.verdict, *self.notes])
        return str(Markup("<p>{}</p><table>{}</table>").format(told, rows))

    @cached_property
    def _section(self) -> ReportSection:
        with tempfile.TemporaryDirectory(prefix="asterism-results-") as name:
            workspace = Path(name)
            params = self._write(workspace).model_dump(mode="json")
            (workspace / "params.yaml").write_text(json.dumps(params), encoding="utf-8")
            section = SECTIONS[self._lane](workspace)
        assert section is not None, "its results are there"
        return section
