"""The commands to begin with: one makes a project, one says whether all is ready to run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from asterism.cli.program import BEGIN, AsJson, app
from asterism.core.messages.terminal import say, say_json


@app.command(rich_help_panel=BEGIN)
def doctor(
    as_json: AsJson = False,
) -> None:
    """Check software, machine and project, and say what is missing and how to get it.

    The command changes nothing. The exit status is 1 if something prevents a run.
    """
    from asterism.doctor import check, hardware, project, software

    checks = [
        software.python(),
        software.requirements(),
        software.pinned(),
        *software.under_test(),
        *software.programs(),
        hardware.cores(),
        hardware.memory(),
        *hardware.disks(),
        hardware.own_programs(),
        hardware.graphics(),
        *project.project(Path.cwd()),
    ]
    facts = check.as_json(checks)
    if as_json:
        say_json(facts)
    else:
        say(*check.as_text(checks))
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
