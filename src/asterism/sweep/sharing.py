"""Sending results to others and fetching theirs, by DVC's own commands with checks around."""

from __future__ import annotations

from pathlib import Path

from asterism.dvc_hydra.cache_files import remove_left
from asterism.dvc_hydra.experiments import check_out_by_dvc, fetch_by_dvc, push_by_dvc
from asterism.dvc_hydra.repository import open_checked_repository, open_repository
from asterism.sweep.workspace import git_setting


def push(root: Path, origin: str = "origin") -> int:
    """Send results and the run-cache to the remote; the exit status of DVC's command.

    Experiments go to a git remote too, and their results with them, where git has it.

    From a remote that is a folder goes what interrupted pushes have left there. On servers their
    own rules decide: S3, for one, keeps no half object.

    Args:
        root: the workspace, which is the current directory.
        origin: the git remote.
    """
    with open_checked_repository(root) as repository:
        repository.forget_listed()
        repository.require_objects()
        folder = repository.remote_folder
    if folder is not None:
        remove_left(folder)
    return push_by_dvc(origin if git_setting(root, f"remote.{origin}.url") else None)


def pull(root: Path, origin: str | None) -> int:
    """Get results and the run-cache from the remote; the exit status of DVC's command.

    It is DVC's ``pull`` in its two halves, with the check between them. Stages that have never run
    have nothing to check out, and are left out.

    Args:
        root: the workspace, which is the current directory.
        origin: see :func:`~asterism.dvc_hydra.experiments.fetch_by_dvc`.

    Raises:
        UserError: the cache holds what the checks reject.
    """
    with open_checked_repository(root) as repository:
        repository.forget_listed()
    try:
        status = fetch_by_dvc(origin)
    finally:
        clean_cache(root)
    if origin is None and status == 0:
        with open_repository(root) as repository:  # its cache has just been scanned
            repository.remove_cut_short()
            stages = repository.stages_with_results()
        status = check_out_by_dvc(stages)
        with open_checked_repository(root) as repository:
            repository.require_copies()
    return status


def clean_cache(root: Path) -> None:
    """Remove from a workspace's cache what the rules reject.

    Raises:
        UserError: it holds links, or objects that are not what their names say.
    """
    with open_checked_repository(root) as repository:
        repository.clean_cache()
