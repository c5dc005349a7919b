"""The pages that a project has, by the names that people call them."""

from __future__ import annotations

from pathlib import Path

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import unknown

#: Where each page is, and what makes it. Of several files the latest one is meant.
PAGES: dict[str, tuple[tuple[str, ...], str]] = {
    "report": (("report/index.html",), "asterism repro"),
    "vet": (
        ("sweeps/*/points/*/vet/index.html", "report/vet/index.html"),
        "asterism vet ORIGINAL COMPRESSED --inputs FOLDER",
    ),
    "sweep": (("sweeps/*/index.html",), "asterism sweep"),
    "sweeps": (("sweeps/index.html",), "asterism sweep"),
    "manual": (("build/manual/index.html",), "make docs"),
}


def find_page(project: Path, name: str) -> Path:
    """The page of a name.

    Args:
        project: its root.
        name: one of :data:`PAGES`, or a sweep's or vetting run's.

    Raises:
        UserError: there is no such page yet, or none of that name.
    """
    if name not in PAGES:
        return _of_sweep(project, name)
    patterns, command = PAGES[name]
    found = [path for pattern in patterns for path in project.glob(pattern)]
    if not found:
        raise UserError(f"there is no {patterns[0]} yet: `{command}` makes it")
    return max(found, key=lambda path: path.stat().st_mtime)


def _of_sweep(project: Path, name: str) -> Path:
    """The page of a vetted pair in a sweep, else the sweep's."""
    known = sorted(path.parent.name for path in project.glob("sweeps/*/index.html"))
    if name not in known:
        raise unknown("page", name, [*PAGES, *known])
    folder = project / "sweeps" / name
    vetted = sorted(folder.glob("points/*/vet/index.html"))
    return vetted[0] if len(vetted) == 1 else folder / "index.html"
