"""The ``asterism`` command: what DVC's own commands do not do."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from asterism import __version__
from asterism.core.files.interrupts import require_uninterrupted
from asterism.core.files.os_errors import report_os_errors
from asterism.core.files.user_files import absolute_path
from asterism.core.messages.errors import UserError, missing_extra
from asterism.core.messages.terminal import escape_streams, is_terminal, say

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


app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",  # else lines of docstrings end where they end in the source
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
AsJson = Annotated[bool, typer.Option("--json", help="Print only JSON, for programs.")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", "-S", help="An override of Hydra; repeatable.")
]
ShowPage = Annotated[
    bool | None,
    typer.Option(
        "--open/--no-open", help="Open the page in a browser; default: only in a terminal."
    ),
]


def with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command of which one parameter is a dataclass: each of its fields is an option."""
    parameters: list[inspect.Parameter] = []
    shared: dict[str, tuple[type, set[str]]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind = parameter.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            fields = inspect.signature(kind, eval_str=True).parameters
            shared[parameter.name] = kind, set(fields)
            parameters += fields.values()
        else:
            parameters.append(parameter)

    @wraps(command)
    def called(**values: Any) -> None:
        for name, (kind, fields) in shared.items():
            values[name] = kind(**{field: values.pop(field) for field in fields})
        command(**values)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def require_project_root(needed: str) -> None:
    """Stop in a folder without this file of a project's root, or of another version's project."""
    from asterism.project import check_code

    if not Path(needed).exists():
        raise UserError(
            f"there is no {needed} here: run the command in the project's root "
            "(`asterism new FOLDER` makes a project)"
        )
    check_code(Path.cwd())


def enter_project(say: Callable[[str], None], overrides: Sequence[str] = ()) -> None:
    """Go to the project of this folder, which is made where there is none.

    Paths that are not absolute lead elsewhere afterwards.

    Args:
        say: told what is made.
        overrides: of the run that the project is for: it is made only if they are possible.
    """
    from asterism.project import find_conf_tree, find_project_folder, is_project, make_project

    place = find_project_folder(Path.cwd())
    if not is_project(place):
        if overrides:
            from asterism.config import compose

            compose(find_conf_tree(place), list(overrides))
        for line in make_project(place):
            say(line)
    os.chdir(place)
    require_project_root("dvc.yaml")


@contextmanager
def packed_models(*paths: Path) -> Iterator[list[Path]]:
    """Models as one file each, by paths from the root, for as long as the block runs.

    Where the block fails and a model cannot even be opened, that is what is wrong.

    Raises:
        UserError: a model cannot be opened; the message names it as it was given.
    """
    from asterism.models.signatures.reading import whole_file
    from asterism.models.tensor_models.trial import require_runs

    with ExitStack() as stack:
        files = [stack.enter_context(whole_file(path)) for path in paths]
        try:
            yield list(map(absolute_path, files))
        except UserError:
            for file, path in zip(files, paths, strict=True):
                require_runs(file, path)
            raise


def keep_packed_model(file: Path) -> Path:
    """Where a model of :func:`packed_models` stays, so that results can depend on it."""
    from asterism.models.signatures.reading import keep_packed as keep
    from asterism.project import PACKED

    return keep(file, PACKED)


def enter_own_project() -> None:
    """Go to the project that this folder or its git repository has, where there is one.

    Raises:
        UserError: there is none.
    """
    from asterism.project import find_project_folder, is_project

    if is_project(place := find_project_folder(Path.cwd())):
        os.chdir(place)
    require_project_root("dvc.yaml")


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


def run_program(program: typer.Typer, name: str) -> None:
    """Run the command that the arguments name: what a user can mend in one line, exit status 1.

    Args:
        program: its commands.
        name: what the user calls it by, for its help.

    Raises:
        KeyboardInterrupt: the command was interrupted, and a library made another error of that.
    """
    escape_streams()
    try:
        with report_os_errors():
            program(prog_name=name)
    except UserError as error:
        require_uninterrupted()
        say(f"error: {error}", error=True)
        sys.exit(1)
    except Exception as error:  # a defect, at length
        require_uninterrupted()
        missing = missing_extra(error)
        told = [f"error: {missing}"] if missing else traceback.format_exc().splitlines()
        say(*told, error=True)
        sys.exit(1)
    finally:
        say()  # where nobody reads what is still buffered
