"""The command that makes a project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from asterism.cli.program import BEGIN, app
from asterism.core.messages.terminal import say


@app.command(rich_help_panel=BEGIN)
def new(
    folder: Annotated[Path, typer.Argument(help="The project's folder.")] = Path(),
    update: Annotated[
        bool, typer.Option("--update", help="Bring a project to the version that is installed.")
    ] = False,
) -> None:
    """Make a project of your own: parameters, stages and a git repository."""
    from asterism.project import new_project, update_project

    for line in update_project(folder) if update else new_project(folder):
        say(line)
