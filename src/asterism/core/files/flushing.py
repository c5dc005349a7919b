"""Flushing written files and folders to the disk.

Without it a computer that loses power may keep a file's new name and lose its content.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from stat import S_ISDIR, S_ISREG

#: Errors of file systems that cannot flush a folder.
_CANNOT = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF}


def flush(path: Path) -> None:
    """Flush a file, or a folder with all that lies in it. Links are not followed.

    Raises:
        OSError: the disk has failed or is full, which some file systems say only now.
    """
    mode = path.lstat().st_mode
    if S_ISDIR(mode):
        for inside in sorted(path.iterdir()):
            flush(inside)
        flush_names(path)
    elif S_ISREG(mode):
        _sync(path)


def flush_names(folder: Path) -> None:
    """Flush the list of names of a folder, or of the one that a link names."""
    try:
        _sync(folder.resolve())
    except OSError as error:
        if error.errno not in _CANNOT:
            raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
