"""All commands of ``asterism``."""

from __future__ import annotations

from asterism.cli import (  # noqa: F401 - each adds its commands to the app
    judging,
    libraries,
    models,
    pipeline,
    projects,
    reproduction,
    versions,
)
from asterism.cli.program import app, run_program

__all__ = ["app", "run"]


def run() -> None:
    """Run the command that the arguments name."""
    run_program(app, "asterism")
