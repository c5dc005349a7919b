"""Opening files whose names come from others: plain files only, and without blocking."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path


def open_regular(path: Path) -> BufferedReader:
    """A plain file, or a link to one, opened to read its bytes.

    To open a pipe would wait for its other end. A device may act when it is opened, and never end
    when it is read. So the path is looked at first, and then what was really opened.

    Raises:
        OSError: it cannot be opened, or is no plain file (a folder, a pipe, a device).
    """
    _require_plain(path.stat())
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        _require_plain(os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _require_plain(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is no plain file")
