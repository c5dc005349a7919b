"""Commands about projects: to make one, to check whether all is ready, and to open its pages."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from asterism.cli.program import BEGIN, LOOK, AsJson, app, enter_own_project, show_page
from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import say, say_json
from asterism.core.parameters.registry import unknown


@app.command(rich_help_panel=BEGIN)
def doctor(
    as_json: AsJson = False,
) -> None:
    """Check software, machine and project, and say what is missing and how to get it.

    The command changes nothing. The exit status is 1 if something prevents a run.
    """
    from asterism.doctor import checks_as_json, format_checks, hardware, project, software

    checks = [
        software.check_python(),
        software.check_requirements(),
        software.check_pinned_versions(),
        *software.check_libraries_under_test(),
        *software.check_external_programs(),
        hardware.check_cores(),
        hardware.check_memory(),
        *hardware.check_disks(),
        hardware.check_programs_root(),
        hardware.check_graphics_cards(),
        *project.check_project(Path.cwd()),
    ]
    facts = checks_as_json(checks)
    if as_json:
        say_json(facts)
    else:
        say(*format_checks(checks))
    sys.exit(1 if facts["error"] else 0)


@app.command(rich_help_panel=BEGIN)
def new(
    folder: Annotated[Path, typer.Argument(help="The project's folder.")] = Path(),
    update: Annotated[
        bool, typer.Option("--update", help="Bring a project to the installed version.")
    ] = False,
) -> None:
    """Make a project of your own: parameters, stages and a git repository."""
    from asterism.project import new_project, update_project

    for line in update_project(folder) if update else new_project(folder):
        say(line)


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

#: A name that stands for itself in a shell, and is no option.
_WORD = re.compile(r"[\w.@][\w./@+-]*")


@app.command("open", rich_help_panel=LOOK)
def open_page(
    page: Annotated[
        str,
        typer.Argument(
            help="report, vet, sweep, sweeps, manual, or the name of a sweep or vetting run.",
            autocompletion=list_page_names,
        ),
    ] = "report",
) -> None:
    """Open a page in the browser: the report, a vetted pair or a sweep; and print its path.

    `vet` and `sweep` mean the latest ones.
    """
    enter_own_project()
    place = find_page(Path.cwd(), page)
    show_page(place, show=True)


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


def list_stage_names(incomplete: str) -> list[str]:
    """Stages that begin so; those of several variants with each that has run."""
    from asterism.core.resuming.work_units import declared_stages
    from asterism.dvc_hydra.lockfile import stage_names as names_in_lock

    try:
        known = [*declared_stages(), *names_in_lock(Path())]
    except UserError:
        return []
    return _beginning(known, incomplete)


def list_page_names(incomplete: str) -> list[str]:
    """Pages that ``asterism open`` knows, and sweeps."""
    sweeps = [path.parent.name for path in Path("sweeps").glob("*/index.html")]
    return _beginning([*PAGES, *sweeps], incomplete)


def _beginning(known: list[str], incomplete: str) -> list[str]:
    """Those that a shell takes as one plain word: it puts them into a line that it will run."""
    return sorted({name for name in known if _WORD.fullmatch(name) and name.startswith(incomplete)})
