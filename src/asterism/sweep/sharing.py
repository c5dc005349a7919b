"""Sending results to others and fetching theirs."""

from __future__ import annotations

from pathlib import Path

from asterism.dvc_hydra.cache_files import remove_stale_files
from asterism.dvc_hydra.commands import run_dvc
from asterism.dvc_hydra.lockfile import LOCK_FILE, parse_outputs
from asterism.dvc_hydra.remote import open_remote
from asterism.dvc_hydra.repository import Repository, open_checked_repository
from asterism.sweep.workspace import git_setting, run_git


def push(root: Path, origin: str = "origin") -> int:
    """Send results and the run-cache to the remote; the exit status of DVC's command.

    Experiments go to a git remote too, and their results with them, where git has it.

    If the remote is a folder, files that interrupted pushes have left there are removed. Servers
    have their own rules: S3, for example, never keeps a part of an object.

    Args:
        root: the workspace.
        origin: the git remote.
    """
    repository = open_checked_repository(root)
    repository.require_objects()
    if repository.remote_folder is not None:
        remove_stale_files(repository.remote_folder)
    status = run_dvc(root, "push", "--run-cache", afresh=True)
    if status == 0 and git_setting(root, f"remote.{origin}.url"):
        status = run_dvc(root, "exp", "push", "--all-commits", "--", origin, afresh=True)
    return status


def pull(root: Path, origin: str | None) -> int:
    """Get results and the run-cache from the remote; the exit status of DVC's command.

    It is DVC's ``pull`` in its two halves. What others have written comes into the cache file by
    file, see :mod:`asterism.dvc_hydra.remote`, and into the workspace by DVC. Stages that have
    never run have nothing to check out, and are left out.

    Args:
        root: the workspace.
        origin: a git remote, to fetch its experiments with their results; None to fetch what
            ``dvc.lock`` names, and put it into the workspace.

    Raises:
        UserError: the cache holds what the rules reject, or the remote cannot be reached.
    """
    repository = open_checked_repository(root)
    if origin is not None:
        command = ["exp", "pull", "--no-cache", "--all-commits", "--", origin]
        if status := run_dvc(root, *command):
            return status
    try:
        _fetch(repository, with_experiments=origin is not None)
    finally:
        repository.clean_cache()
    return repository.check_out_results() if origin is None else 0


def _fetch(repository: Repository, with_experiments: bool) -> None:
    wanted = {d for outputs in repository.stages_with_results().values() for d in outputs.values()}
    if with_experiments:
        wanted |= _outputs_of_experiments(repository.root)
    with open_remote(repository.root, repository.cache) as remote:
        entries = remote.fetch_run_cache()
        wanted |= {str(out["md5"]) for entry in entries for out in entry.get("outs", [])}
        remote.fetch_objects(wanted)


def _outputs_of_experiments(root: Path) -> set[str]:
    """Hashes of all outputs that the ``dvc.lock`` of an experiment names."""
    commits = run_git(root, "for-each-ref", "--format=%(objectname)", "refs/exps").split()
    tracked = [c for c in commits if run_git(root, "ls-tree", "--name-only", c, LOCK_FILE)]
    texts = {run_git(root, "show", f"{commit}:{LOCK_FILE}") + "\n" for commit in tracked}
    return {d for text in texts for d in parse_outputs(text, "an experiment's dvc.lock").values()}
