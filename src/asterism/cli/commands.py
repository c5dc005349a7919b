"""All commands of ``asterism``."""

from __future__ import annotations

import sys

from asterism.cli import (
    comparison,
    diagnosis,
    judging,
    libraries,
    models,
    pipeline,
    projects,
    reproduction,
    versions,
)
from asterism.cli.program import app
from asterism.core.files.os_errors import rejections_told
from asterism.core.messages.errors import UserError
from asterism.core.messages.extras import missing_extra

__all__ = [
    "app",
    "comparison",
    "diagnosis",
    "judging",
    "libraries",
    "models",
    "pipeline",
    "projects",
    "reproduction",
    "run",
    "versions",
]


def run() -> None:
    """Run the command that the arguments name: what a user can mend in one line, exit status 1."""
    try:
        with rejections_told():
            app(prog_name="asterism")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except ModuleNotFoundError as error:
        if (missing := missing_extra(error)) is None:
            raise
        print(f"error: {missing}", file=sys.stderr)
        sys.exit(1)
