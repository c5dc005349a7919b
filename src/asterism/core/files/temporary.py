"""Temporary folders beside what is written, and flushing of what was written to the disk.

A writer holds a lock on its folder, which the operating system gives back when it ends, however it
ends. So a folder whose lock is free has been left, and no clock or process number has to be asked.

What was written is flushed: otherwise a computer that loses power may keep a file's new name and
lose its content.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from asterism.core.files.folders import remove_tree
from asterism.core.files.interrupts import postpone_interrupts

#: Errors of file systems that cannot flush a folder.
_CANNOT = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF}


@contextmanager
def scratch_beside(path: Path) -> Iterator[Path]:
    """A folder of this writer's own beside ``path``, in a folder that exists; gone at the end.

    Those that killed writers of the same path have left are removed first. On a file system
    without locks of folders they stay.
    """
    _remove_left(path)
    made = None
    try:
        with postpone_interrupts():
            made = _make(path)
        yield made[0]
    finally:
        if made is not None:
            with postpone_interrupts():
                remove_tree(made[0])
                os.close(made[1])


def _make(path: Path) -> tuple[Path, int]:
    """A new folder, and the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            lock = _open(folder)
        except FileNotFoundError:
            continue  # another writer took it for left, in the moment before it was locked
        with suppress(OSError):  # without such locks, nobody takes it for left
            fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder, lock
        os.close(lock)


def _remove_left(path: Path) -> None:
    named = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}")  # as ``mkdtemp`` does
    for folder in [found for found in path.parent.iterdir() if named.fullmatch(found.name)]:
        with suppress(OSError):  # it is no folder, it has just gone, or a writer is at it
            lock = _open(folder)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(folder)
            finally:
                os.close(lock)


def _open(folder: Path) -> int:
    """A descriptor of a folder, and never of what a link leads to."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


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
