"""Commands that set results beside each other or show them: runs, diff and open."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from asterism.cli.completion import page_names, revision_names
from asterism.cli.program import (
    LOOK,
    AsJson,
    ShowPage,
    app,
    require_own_root,
    require_root,
    show_page,
)
from asterism.core.messages.terminal import say, say_json


@app.command(rich_help_panel=LOOK)
def runs(
    all_commits: Annotated[
        bool, typer.Option("--all-commits", "-A", help="Those that started from any commit.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all metrics that differ, not only a few.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare experiments: only the parameters and metrics that differ between them.

    They are DVC's experiments: of `dvc exp run` and the points of sweeps. It also says which call
    of `dvc exp show` shows the same.
    """
    from asterism.results import runs as results

    require_own_root()
    found = results.compare_runs(Path.cwd(), all_commits=all_commits)
    command = results.dvc_command(found, all_commits=all_commits, everything=everything or as_json)
    if as_json:
        say_json(results.as_json(found, command))
    else:
        width = shutil.get_terminal_size().columns
        say(*results.as_text(found, command, everything=everything, width=width))


@app.command(rich_help_panel=LOOK)
def diff(
    before: Annotated[
        str,
        typer.Argument(
            metavar="REV1", help="A commit or an experiment.", autocompletion=revision_names
        ),
    ],
    after: Annotated[
        str,
        typer.Argument(
            metavar="REV2",
            help="Another one; or the files in the folder now.",
            autocompletion=revision_names,
        ),
    ] = "workspace",
    output: Annotated[
        Path | None, typer.Option(help="The page; default: diffs/REV1..REV2.html.")
    ] = None,
    as_json: AsJson = False,
    show: ShowPage = None,
) -> None:
    """Say what changed in results between two commits or experiments, and write a page of it.

    Parameters, metrics, data of plots, findings and verdicts are compared. Nothing is checked out,
    and nothing runs. What is not in the cache is named.
    """
    from asterism.results import difference_page, differences
    from asterism.results.revision import cache_of, open_revision

    require_root("dvc.yaml")
    root = Path.cwd()
    cache = cache_of(root)
    both = [open_revision(root, name, cache) for name in (before, after)]
    found = differences.find_differences(*both)
    if as_json:
        say_json(differences.as_json(found))
        return
    name = f"{before}..{after}".replace("/", "-")
    page = output if output is not None else Path("diffs") / f"{name}.html"
    difference_page.write_differences(page, found)
    say(*difference_page.as_text(found))
    show_page(page, show)


@app.command("open", rich_help_panel=LOOK)
def open_page(
    page: Annotated[
        str,
        typer.Argument(
            help="report, vet, sweeps, sweep, diff, manual, or a sweep's name.",
            autocompletion=page_names,
        ),
    ] = "report",
    print_only: Annotated[
        bool, typer.Option("--print", help="Print the page's path, and open nothing.")
    ] = False,
) -> None:
    """Open a page in the browser: the report, a vetted pair, a sweep. Its path is printed.

    `vet`, `sweep` and `diff` are the latest ones. A name is that of a sweep or a vetting run.
    """
    from asterism.results.pages import find_page

    require_own_root()
    place = find_page(Path.cwd(), page)
    show_page(place, show=not print_only)
