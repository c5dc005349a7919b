"""The ``asterism`` command: what DVC's own commands do not do."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from asterism import __version__
from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import is_terminal, say

#: Groups of commands in ``asterism --help``.
BEGIN = "Begin"
MODELS = "Vet compressed models"
JUDGE = "Judge tests"
LIBRARIES = "Test libraries"
RUN = "Run the pipeline"
LOOK = "Look at results"
KEEP = "Share and keep results"
PAPERS = "The papers' experiments"

#: The groups, in the order in which they are shown.
GROUPS = (BEGIN, MODELS, JUDGE, LIBRARIES, RUN, LOOK, KEEP, PAPERS)


class InGroups(TyperGroup):
    """Lists commands by their groups."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the commands; within a group as they are declared."""
        places = {group: place for place, group in enumerate(GROUPS)}

        def place(name: str) -> int:
            return places.get(getattr(self.commands[name], "rich_help_panel", ""), len(places))

        return sorted(self.commands, key=place)


app = typer.Typer(
    cls=InGroups,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help=(
        "Test deep-learning systems, reproducibly. Begin with `asterism doctor`, or with "
        "`asterism vet` on your model. `--install-completion` lets the shell complete commands."
    ),
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        say(f"asterism {__version__}")
        raise typer.Exit


@app.callback()
def _asterism(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_tell_version, is_eager=True
        ),
    ] = False,
) -> None: ...


#: Options that several commands have.
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs, and nothing else.")]
ShowPage = Annotated[
    bool | None,
    typer.Option(
        "--open/--no-open", help="Open the page in a browser, or not; default: in a terminal."
    ),
]


def require_root(needed: str) -> None:
    """Stop in a folder without this file of a project's root, or of another version's project."""
    from asterism.project import check_code

    if not Path(needed).exists():
        raise UserError(
            f"there is no {needed} here: run the command in the project's root "
            "(`asterism new FOLDER` makes a project)"
        )
    check_code(Path.cwd())


def make_sure_of_a_project(say: Callable[[str], None]) -> None:
    """Make a project here where there is none."""
    from asterism.project import new_project

    if not Path("dvc.yaml").exists():
        for line in new_project(Path()):
            say(line)
    require_root("dvc.yaml")


def show_page(page: Path, show: bool | None) -> None:
    """Print a page's path, and open it in a browser, where there is one.

    Args:
        page: an HTML file.
        show: whether to open it; None for where standard output is a terminal.
    """
    place = page.resolve()
    say(f"page: {place}")
    if is_terminal() if show is None else show:
        webbrowser.open(place.as_uri())
