"""Opening DVC's repository of a workspace, with the checks that this process adds to DVC."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

from asterism.sweep.cache_files import require_plain
from asterism.sweep.guard import guard_dvc


@contextmanager
def open_repository(root: Path) -> Iterator[Any]:
    """DVC's repository of a workspace, which waits for other DVC processes in it.

    DVC looks up names of stages in the current directory, so that is the workspace meanwhile. It
    is guarded in this process from here on, see :mod:`asterism.sweep.guard`.
    """
    from dvc.repo import Repo

    guard_dvc()
    with chdir(root), Repo(str(root), _wait_for_lock=True) as repository:
        yield repository


@contextmanager
def open_checked_repository(root: Path) -> Iterator[Any]:
    """As :func:`open_repository`, after a scan of the whole cache, see :func:`require_plain`.

    A command does this once, when it starts: the scan takes longer the larger the cache is.

    Raises:
        UserError: the cache holds links.
    """
    with open_repository(root) as repository:
        require_plain(repository)
        yield repository
