"""Running a script in forks of a process that has imported what takes most of its time.

The processes import this module before a script runs in them, so it needs nothing else.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any


def import_first(name: str) -> str:
    """Import a module; why it cannot be imported, or nothing."""
    try:
        import_module(name)
    except Exception as error:  # a script that runs without it says so itself
        return f"{type(error).__name__}: {error}"
    return ""


def run_script(_: Any, script: str, folder: str) -> None:
    """Be the process of a script, and end with its exit status; 2 where it raises an exception.

    Args:
        script: its file.
        folder: that it runs in.
    """
    os.chdir(folder)
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).parent))
    status: Any = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        status = ended.code
    except BaseException:
        traceback.print_exc()
        status = 2
    os._exit(status if isinstance(status, int) else int(status is not None))
