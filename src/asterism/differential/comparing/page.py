"""The page of models that ran in several libraries, or in two versions of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asterism.differential.comparing.blaming import Part
from asterism.differential.comparing.comparing import Change
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.subjects.going_on import NotCompared
from asterism.report.base.document import write_document
from asterism.report.base.section import KeyFigure, ReportSection
from asterism.report.base.templating import render_body, renderer

_render = renderer("asterism.differential.comparing")


@dataclass(frozen=True)
class Explained:
    """A change with the smallest part that shows it.

    Args:
        change: of the whole model.
        part: which nodes show it.
        folder: where its script lies, relative to the page.
        statuses: of the script, by the name of the library or version that ran it.
    """

    change: Change
    part: Part
    folder: str
    statuses: tuple[tuple[str, int], ...]

    @property
    def confirmed(self) -> bool:
        """Whether the script shows the bug in the version to blame, the new one last."""
        is_new = self.change.culprit == self.change.pair.new
        return self.statuses[-1 if is_new else 0][1] == 1

    @property
    def script(self) -> str:
        """Its path, relative to the page."""
        return f"{self.folder}/repro.py"

    @property
    def nodes(self) -> str:
        """The first nodes of the part, and how many more there are."""
        more = len(self.part.layers) - 3
        return ", ".join(self.part.layers[:3]) + (f" and {more} more" if more > 0 else "")


@dataclass
class Compared:
    """What is told of all models that ran side by side.

    Args:
        explained: changes or faults, with the parts that show them.
        rejected: models, ways to run them and nodes to blame that were left out, with the reason.
        left_out: configurations that do not work here, and why.
    """

    explained: list[Explained] = field(default_factory=list, kw_only=True)
    rejected: NotCompared = field(default_factory=list, kw_only=True)
    left_out: Mapping[str, str] = field(default_factory=dict, kw_only=True)


def write_comparison_page(
    target: Path,
    anchor: str,
    title: str,
    question: str,
    headline: Mapping[str, tuple[object, str]],
    params: JudgeParams,
    **facts: Any,
) -> None:
    """Write the page.

    Args:
        target: an HTML file.
        anchor: of its part of the report.
        title: of it.
        question: that it answers.
        headline: figures by what they count, each with the file and keys that it is from.
        params: the oracle's tolerances.
        facts: what the template tells.
    """
    tolerances = {"ulps": f"{params.ulps:g}", "conditioning": f"{params.conditioning:g}"}
    body, contents = render_body(_render, "comparison.html.j2", anchor, **tolerances, **facts)
    figures = tuple(KeyFigure(n, str(v), sources=(source,)) for n, (v, source) in headline.items())
    facts = {"headline": figures, "body": body, "contents": contents, "order": 0}
    section = ReportSection(anchor=anchor, title=title, question=question, **facts)
    write_document(target, [section], "")


def of_change(explained: Sequence[Explained], changes: Sequence[Any]) -> list[Explained]:
    """Those of some changes, or of some findings that are at fault in one."""
    return [e for e in explained if any(c in (e.change, e.change.at_fault) for c in changes)]
