"""Fetching what others have computed: DVC's own pull with checks, and the check of a cache."""

from __future__ import annotations

from pathlib import Path

from asterism.dvc_hydra.experiments import pull_by_dvc
from asterism.dvc_hydra.repository import open_checked_repository


def pull(root: Path, origin: str | None) -> int:
    """Get results and the run-cache from the remote; the exit status of DVC's command.

    Args:
        root: the workspace, which is the current directory.
        origin: see :func:`~asterism.dvc_hydra.experiments.pull_by_dvc`.
    """
    with open_checked_repository(root):
        pass  # the cache can be used
    try:
        return pull_by_dvc(origin)
    finally:
        clean_cache(root)


def clean_cache(root: Path) -> None:
    """Remove from a workspace's cache what the rules reject."""
    with open_checked_repository(root) as repository:
        repository.clean_cache()
