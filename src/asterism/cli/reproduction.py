"""Commands about the papers' experiments: reproduce and compare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from asterism.cli.program import PAPERS, app, require_project_root
from asterism.core.messages.terminal import say


@app.command(rich_help_panel=PAPERS)
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments of conf/experiment; default: all with this scale."),
    ] = None,
    scale: Annotated[
        str, typer.Option(help="smoke (seconds, digits), small (minutes) or full (the paper's).")
    ] = "smoke",
    models: Annotated[
        Path | None, typer.Option(help="The folder that holds the published models.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Points, or stages of a point, that run at once.")
    ] = 1,
    beside_other_work: Annotated[
        bool,
        typer.Option(
            "--beside-other-work", help="Note that other work makes the times unreliable."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the points and what they would run.")
    ] = False,
) -> None:
    """Run the papers' experiments, each as a sweep, and record their numbers in results/."""
    from asterism.reproduction.app import reproduce_experiments as run

    require_project_root("dvc.yaml")
    status = run(
        names or [],
        scale,
        models,
        jobs=jobs,
        beside_other_work=beside_other_work,
        dry=dry_run,
        say=say,
    )
    sys.exit(status)


@app.command(rich_help_panel=PAPERS)
def compare(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if the page is not current.")
    ] = False,
) -> None:
    """Compare the papers' figures with the runs in results/, and write docs/reproduction.md."""
    from asterism.reproduction.app import write_comparison as write

    require_project_root("results")
    write(check, say)
