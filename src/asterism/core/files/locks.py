"""Locks between processes, on one machine or on a shared file system.

The operating system gives a lock back when its holder ends, however it ends, so a killed run
leaves nothing to clean up. A process that holds a lock alone may remove its file. Processes that
waited for it then lock the new file.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from asterism.core.files.plain_files import open_plain


@contextmanager
def hold_lock(path: Path) -> Iterator[int]:
    """Hold the lock while the block runs, waiting for it first.

    Yields:
        Its descriptor: a process to which it is passed holds the lock too, until it ends.

    Raises:
        UserError: something else than a file lies there, here and in the functions below.
    """
    with _locked(path, fcntl.LOCK_EX) as descriptor:
        yield descriptor


@contextmanager
def hold_lock_now(path: Path) -> Iterator[None]:
    """Hold the lock while the block runs.

    Raises:
        BlockingIOError: another process holds it.
    """
    with _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
        yield


@contextmanager
def share_lock(path: Path) -> Iterator[None]:
    """Hold the lock together with others that share it; wait while one process holds it alone."""
    with _locked(path, fcntl.LOCK_SH):
        yield


def is_lock_held(path: Path) -> bool:
    """Whether a process holds the lock at this moment, alone or with others."""
    if not path.exists():
        return False
    try:
        with hold_lock_now(path):
            return False
    except BlockingIOError:
        return True


@contextmanager
def _locked(path: Path, how: int) -> Iterator[int]:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # Over NFS a shared lock needs a descriptor that reads, an exclusive one that writes.
            descriptor = open_plain(path, os.O_RDWR)
        except FileNotFoundError:
            continue  # its folder was removed at this moment
        try:
            fcntl.flock(descriptor, how)
            if _names(path, descriptor):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _names(path: Path, descriptor: int) -> bool:
    """Whether the path still names the open file, rather than a new one or none."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
