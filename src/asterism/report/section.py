"""What a lane contributes to the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from markupsafe import Markup

from asterism.core.registry import Registry

#: Renders one lane's section from the results in the workspace that it is given; None when the
#: lane has not run there. A section is a module in ``report/sections`` with its template.
SectionRenderer = Callable[[Path], Markup | None]

SECTIONS: Registry[SectionRenderer] = Registry("report section", "asterism.report.sections")
