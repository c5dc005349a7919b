"""A workspace of its own for one point of a sweep, which shares the project's cache."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from asterism.core.files.folders import remove_tree
from asterism.core.files.plain_files import require_no_link
from asterism.core.messages.errors import UserError
from asterism.core.messages.escaping import list_first
from asterism.dvc_hydra.local_settings import use_cache

#: Links instead of copies of cached files: a cached point moves no data.
LINKS = "reflink,hardlink,symlink,copy"


#: What results are written into, and no stage reads: it may differ from the commit.
WRITTEN = ("dvc.lock", "results/", "docs/")

#: The parameters in the folder, which no point reads: each has a composition of its own.
PARAMETERS = "params.yaml"

#: Brings the committed parameters back, whether the change is staged or not.
BACK = f"git restore --staged --worktree {PARAMETERS}"

#: Where an untracked file is a part of the project that the points' clones would lack.
OWN = ("conf", "src", "stages")


def run_git(folder: Path, *arguments: str) -> str:
    """What a git command prints.

    Raises:
        UserError: it failed.
    """
    result = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        encoding="utf-8",
        errors="surrogateescape",  # names of branches need not be UTF-8
        capture_output=True,
        check=False,
    )
    if result.returncode:
        reason = (result.stderr.strip() or result.stdout.strip() or "no reason given").splitlines()
        raise UserError(f"git {arguments[0]}: {reason[-1]}")
    return result.stdout.rstrip()


def require_clean(root: Path) -> str:
    """The commit that a sweep's points start from.

    ``dvc.lock`` may differ from it: points take results from the cache, not from there. So may
    what is written about results, and ``params.yaml``, which `dvc exp run` changes and stages:
    every point composes its own from ``conf/``.

    Raises:
        UserError: tracked files have changes, files of the project's own are not tracked, or
            nothing is committed.
    """
    if changed := [name for name in list_changed_files(root) if name != PARAMETERS]:
        raise UserError(
            f"the workspace has changes that are not committed ({list_first(changed)}), and every "
            "point of a sweep starts from the commit: commit them, or put them away by "
            "`git stash --include-untracked` (`git stash pop` brings them back)"
        )
    return run_git(root, "rev-parse", "HEAD")


def list_changed_files(root: Path) -> list[str]:
    """Files of the project that differ from the commit, and its own that git does not track.

    Results, and what is written about them, are left out.

    Raises:
        UserError: the folder belongs to no git repository.
    """
    changed = [
        line[3:]
        for line in run_git(root, "status", "--porcelain", "--untracked-files=no").splitlines()
        if not line[3:].startswith(WRITTEN)
    ]
    own = run_git(root, "ls-files", "--others", "--exclude-standard", "--", *OWN)
    return changed + own.splitlines()


def create_workspace(root: Path, target: Path, revision: str, cache: Path) -> None:
    """A clone of the project at a commit, with the project's cache.

    Args:
        root: the project.
        target: where the clone goes; what is there is removed.
        revision: the commit.
        cache: the project's DVC cache.

    Raises:
        UserError: git rejects, or a link leads out of the project.
    """
    require_no_link(root, target)
    remove_tree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    run_git(root, "clone", "--quiet", "--shared", "--no-checkout", str(root), str(target))
    run_git(target, "checkout", "--quiet", "--detach", revision)
    for key, value in git_committer(root).items():
        run_git(target, "config", key, value)
    local = root / ".dvc" / "config.local"
    if local.exists():
        shutil.copy2(local, target / ".dvc" / "config.local")
    use_cache(target, cache, LINKS)


def git_committer(root: Path) -> dict[str, str]:
    """Who commits: the user as git knows them, else a name of this project's."""
    usual = {"user.name": "asterism", "user.email": "asterism@localhost"}
    return {key: git_setting(root, key) or otherwise for key, otherwise in usual.items()}


def git_setting(root: Path, key: str) -> str | None:
    """What git is configured with in a repository; None where it is not."""
    try:
        return run_git(root, "config", key) or None
    except UserError:
        return None
