"""Fetching what others have computed: DVC's own pull with checks, and the check of a cache."""

from __future__ import annotations

from pathlib import Path

from asterism.sweep.guard import clean
from asterism.sweep.repository import open_checked_repository


def pull(root: Path, origin: str | None) -> int:
    """Get results and the run-cache from the remote; the exit status of DVC's command.

    Args:
        root: the workspace, which is the current directory.
        origin: a git remote, to fetch its experiments with their results; None to fetch the
            results that ``dvc.lock`` names.
    """
    from dvc.cli import main

    with open_checked_repository(root):
        pass  # the cache can be used
    results = ["pull", "--run-cache"]
    experiments = ["exp", "pull", "--run-cache", "--all-commits", "--", str(origin)]
    try:
        return int(main(results if origin is None else experiments))
    finally:
        clean_cache(root)


def clean_cache(root: Path) -> None:
    """Remove from a workspace's cache what the rules refuse, see :func:`clean`."""
    with open_checked_repository(root) as repository:
        clean(repository)
