"""Locks between processes, on one machine or on a shared file system.

The operating system gives a lock back when its holder ends, however it ends, so a killed run
leaves nothing to clean up.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(path: Path) -> Iterator[int]:
    """Hold the lock while the block runs, waiting for it first.

    Yields:
        Its descriptor: a process to which it is passed holds the lock too, until it ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


@contextmanager
def held_now(path: Path) -> Iterator[None]:
    """Hold the lock while the block runs.

    Raises:
        BlockingIOError: another process holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def is_held(path: Path) -> bool:
    """Whether a process holds the lock at this moment."""
    try:
        with held_now(path):
            return False
    except BlockingIOError:
        return True
