"""The ``asterism`` command: what DVC's own commands do not do."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path

import typer

from asterism.core.files.os_errors import rejections_told
from asterism.core.messages.errors import UserError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Test deep-learning systems, reproducibly. The pipeline itself runs with `dvc repro`.",
)


def require_root(needed: str) -> None:
    """Stop in a folder without this file of a project's root, or of another version's project."""
    from asterism.project import check_code

    if not Path(needed).exists():
        raise UserError(
            f"there is no {needed} here: run the command in the project's root "
            "(`asterism new FOLDER` makes a project)"
        )
    check_code(Path.cwd())


def show_page(page: Path, show: bool | None) -> None:
    """Print a page's path, and open it in a browser, where there is one.

    Args:
        page: an HTML file.
        show: whether to open it; None for where standard output is a terminal.
    """
    place = page.resolve()
    print(f"page: {place}")
    if sys.stdout.isatty() if show is None else show:
        webbrowser.open(place.as_uri())


def main() -> None:
    """Entry point: what a user can mend in one line, exit status 1."""
    try:
        with rejections_told():
            app(prog_name="asterism")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
