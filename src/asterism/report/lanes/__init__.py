"""The sections of the report by name, and the page of them; a module for each lane's section."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import Registry
from asterism.report.base.document import write_document
from asterism.report.base.section import ReportSection, Step

log = get_logger(__name__)

#: Lanes by name. Each renders its section from the results in the workspace that it is given, or
#: gives None when the lane has not run there.
SECTIONS: Registry[Callable[[Path], ReportSection | None]] = Registry(
    "report section", "asterism.report.lanes"
)

#: The link to the page of all sweeps. Which sweeps there are is no result of a stage, so their
#: page is beside the report, and not in it.
SWEEPS = "../sweeps/index.html"

#: What holds for all answers of the front page.
NOTE = Step(
    "Answers follow from this run's results by fixed rules. Every number is of one run with one "
    "seed. This shows how much they vary:",
    "asterism sweep seed=0,1,2",
)


def write_page(workspace: Path, target: Path, lanes: Collection[str] | None = None) -> None:
    """One HTML file with everything inside: no request leaves the page, which links to the sweeps.

    Args:
        workspace: project folder, with ``metrics/``, ``plots/`` and ``artifacts/``.
        target: the page.
        lanes: names of :data:`SECTIONS`; None for all of them.

    Raises:
        UserError: no lane has results.
    """
    sections: list[ReportSection] = []
    for name in SECTIONS if lanes is None else lanes:
        section = SECTIONS[name](workspace)
        if section is None:
            log.info("no results: left out of the report", lane=name)
        else:
            sections.append(section)
    if not sections:
        raise UserError("no stage has left results to report: run `dvc repro`")
    ordered = sorted(sections, key=lambda s: s.order)
    write_document(target, ordered, SWEEPS, note=NOTE)
