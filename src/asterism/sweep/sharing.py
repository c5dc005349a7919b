"""Sending results to others and fetching theirs, by DVC's own commands with checks around."""

from __future__ import annotations

from pathlib import Path

from asterism.dvc_hydra.cache_files import remove_left
from asterism.dvc_hydra.experiments import pull_by_dvc, push_by_dvc
from asterism.dvc_hydra.repository import open_checked_repository


def push(root: Path) -> int:
    """Send results and the run-cache to the remote; the exit status of DVC's command.

    From a remote that is a folder goes what interrupted pushes have left there. On servers their
    own rules decide: S3, for one, keeps no half object.

    Args:
        root: the workspace, which is the current directory.
    """
    with open_checked_repository(root) as repository:
        repository.forget_listed()
        folder = repository.remote_folder
    if folder is not None:
        remove_left(folder)
    return push_by_dvc()


def pull(root: Path, origin: str | None) -> int:
    """Get results and the run-cache from the remote; the exit status of DVC's command.

    Args:
        root: the workspace, which is the current directory.
        origin: see :func:`~asterism.dvc_hydra.experiments.pull_by_dvc`.
    """
    with open_checked_repository(root) as repository:
        repository.forget_listed()
    try:
        return pull_by_dvc(origin)
    finally:
        clean_cache(root)


def clean_cache(root: Path) -> None:
    """Remove from a workspace's cache what the rules reject."""
    with open_checked_repository(root) as repository:
        repository.clean_cache()
