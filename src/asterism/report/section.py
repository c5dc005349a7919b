"""What a lane contributes to the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from asterism.core.parameters.registry import Registry


@dataclass(frozen=True)
class ReportSection:
    """One lane's part of the page.

    Attributes:
        anchor: name for links to it.
        title: heading.
        question: what the lane answers, one sentence.
        headline: the most important results, each a label and a value, shown at the top too.
        body: everything below the heading.
        order: place on the page, lower ones first.
    """

    anchor: str
    title: str
    question: str
    headline: tuple[tuple[str, str], ...]
    body: Markup
    order: int


#: Lanes by name. Each renders its section from the results in the workspace that it is given, or
#: gives None when the lane has not run there. A lane is a module in ``report/sections`` and a
#: template.
SECTIONS: Registry[Callable[[Path], ReportSection | None]] = Registry(
    "report section", "asterism.report.sections"
)
