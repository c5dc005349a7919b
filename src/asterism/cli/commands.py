"""All commands of ``asterism``."""

from __future__ import annotations

import sys
import traceback

from asterism.cli import (  # noqa: F401 - each adds its commands to the app
    judging,
    libraries,
    models,
    pipeline,
    projects,
    reproduction,
    versions,
)
from asterism.cli.program import app
from asterism.core.files.interrupts import require_uninterrupted
from asterism.core.files.os_errors import rejections_told
from asterism.core.messages.errors import UserError, missing_extra
from asterism.core.messages.terminal import escape_streams, say

__all__ = ["app", "run"]


def run() -> None:
    """Run the command that the arguments name: what a user can mend in one line, exit status 1.

    Raises:
        KeyboardInterrupt: the command was interrupted, and a library made another error of that.
    """
    escape_streams()
    try:
        with rejections_told():
            app(prog_name="asterism")
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
