"""The ``asterism`` command: what DVC's own commands do not do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from asterism.core.errors import UserError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Test deep-learning systems, reproducibly. The pipeline itself runs with `dvc repro`.",
)


@app.callback()
def _root() -> None:
    """Keep commands as subcommands even while there is one only."""


@app.command()
def params(
    override: Annotated[
        list[str] | None, typer.Argument(help="Hydra overrides, as `data=mnist` or `seed=1`.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if params.yaml is not current.")
    ] = False,
) -> None:
    """Compose conf/ into params.yaml, validated."""
    from asterism.config import compose

    target = Path("params.yaml")
    text = compose(Path("conf"), override or [])
    if not check:
        target.write_text(text, encoding="utf-8")
        print(f"{target} is written")
    elif not target.exists() or target.read_text(encoding="utf-8") != text:
        raise UserError(f"{target} is not the composition of conf/: run `asterism params`")


def main() -> None:
    """Entry point: user errors in one line, exit status 1."""
    try:
        app()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
