"""The way in which processes of sweeps and runs start."""

from __future__ import annotations

import multiprocessing
import tempfile
from multiprocessing.context import ForkServerContext

from asterism.core.messages.errors import UserError

#: Bytes that the path of a socket may have on Linux and macOS, less what Python adds to the folder.
_LONGEST = 103 - len("/pymp-xxxxxxxx/listener-xxxxxxxx")


def forkserver() -> ForkServerContext:
    """Processes are forked from one that has done nothing else, which listens on a socket.

    Raises:
        UserError: the folder for temporary files has too long a path for a socket.
    """
    folder = tempfile.gettempdir()
    if len(folder.encode()) > _LONGEST:
        raise UserError(
            f"the path of the folder for temporary files, {folder}, is longer than {_LONGEST} "
            "bytes, which is too long for processes side by side: set TMPDIR to a shorter one"
        )
    return multiprocessing.get_context("forkserver")
