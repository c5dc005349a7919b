"""Taking in what others have computed: DVC's own pull, guarded, and the check of a cache."""

from __future__ import annotations

from pathlib import Path

from asterism.sweep.guard import clean, guard_dvc
from asterism.sweep.pipeline import open_repository


def pull(root: Path, origin: str | None) -> int:
    """Get results and the run-cache from the remote; the exit status of DVC's command.

    Args:
        root: the workspace, which is the current directory.
        origin: a git remote, to get the experiments in it with their results; None for the
            results that ``dvc.lock`` names.
    """
    from dvc.cli import main

    guard_dvc()
    results = ["pull", "--run-cache"]
    experiments = ["exp", "pull", "--run-cache", "--all-commits", "--", str(origin)]
    try:
        return int(main(results if origin is None else experiments))
    finally:
        clean_cache(root)


def clean_cache(root: Path) -> None:
    """Take from a workspace's cache what no honest one holds, see :func:`clean`."""
    with open_repository(root) as repository:
        clean(repository)
