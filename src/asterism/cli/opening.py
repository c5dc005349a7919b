"""The command that opens a page of the project in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from asterism.cli.completion import page_names
from asterism.cli.pages import find_page
from asterism.cli.program import LOOK, app, require_own_root, show_page


@app.command("open", rich_help_panel=LOOK)
def open_page(
    page: Annotated[
        str,
        typer.Argument(
            help="report, vet, sweeps, sweep, manual, or a sweep's name.",
            autocompletion=page_names,
        ),
    ] = "report",
    print_only: Annotated[
        bool, typer.Option("--print", help="Print the page's path, and open nothing.")
    ] = False,
) -> None:
    """Open a page in the browser: the report, a vetted pair, a sweep. Its path is printed.

    `vet` and `sweep` are the latest ones. A name is that of a sweep or a vetting run.
    """
    require_own_root()
    place = find_page(Path.cwd(), page)
    show_page(place, show=not print_only)
