"""The project in the current folder: its files, its remote, and what killed commands have left."""

from __future__ import annotations

import time
from pathlib import Path

import psutil

from asterism.config import check_params
from asterism.core.files.artifacts import read_json
from asterism.core.files.locks import is_lock_held
from asterism.core.messages.errors import UserError
from asterism.core.messages.escaping import list_first
from asterism.doctor import Check
from asterism.dvc_hydra import saved_state
from asterism.dvc_hydra.commands import LOCK, TEMPORARY, require_usable
from asterism.dvc_hydra.local_settings import default_remote
from asterism.project import check_code
from asterism.sweep.pipeline import lock_folder
from asterism.sweep.workspace import BACK, PARAMETERS, list_changed_files, run_git

_MINUTE = 60.0


def check_project(root: Path) -> list[Check]:
    """Every check of a project; a single warning where there is none."""
    if not (root / "dvc.yaml").exists():
        advice = "run this in a project's root; `asterism new FOLDER` makes a project"
        return [Check("project", "warning", f"there is none in {root}", advice)]
    return [
        check_installed_code(root),
        check_parameters(root),
        check_work_tree(root),
        check_remote(root),
        *check_locks(root),
        *check_saved_runs(),
    ]


def check_installed_code(root: Path) -> Check:
    """Whether the stages run the installed version."""
    try:
        check_code(root)
    except UserError as error:
        return Check("code", "error", str(error), "run `asterism new --update` and commit")
    return Check("code", "ok", "the stages run the version that is installed")


def check_parameters(root: Path) -> Check:
    """Whether every stage can read its parameters."""
    try:
        check_params(root)
    except (UserError, OSError) as error:
        return Check("params.yaml", "error", str(error), "correct it, or run `asterism params`")
    return Check("params.yaml", "ok", "valid")


def check_work_tree(root: Path) -> Check:
    """Whether git knows the project, and what has changed since the last commit."""
    try:
        revision = run_git(root, "rev-parse", "--short", "HEAD")
        changed = list_changed_files(root)
    except UserError as error:
        advice = "make a git repository with a commit: experiments and sweeps start from it"
        return Check("tree", "error", str(error), advice)
    if not changed:
        return Check("tree", "ok", f"as commit {revision}")
    found = f"{len(changed)} files differ from {revision}: {list_first(changed)}"
    if changed == [PARAMETERS]:
        advice = f"an experiment changed it; `{BACK}` brings the committed one back"
        return Check("tree", "warning", found, advice)
    advice = "commit them before a sweep, or put them away by `git stash --include-untracked`"
    return Check("tree", "warning", found, advice)


def check_remote(root: Path) -> Check:
    """Whether results can be shared."""
    try:
        remote = default_remote(root)
    except UserError as error:
        return Check("remote", "error", str(error), "run `dvc remote add --default NAME URL`")
    if remote is None:
        advice = "to share results: `dvc remote add --default store URL`"
        return Check("remote", "ok", "none: results stay on this machine", advice)
    name, address = remote
    folder = Path(address).expanduser()
    if "://" not in address and not folder.is_dir():
        advice = "mount or make that folder, or give another address"
        return Check("remote", "warning", f"{name}: {address} is no folder", advice)
    return Check("remote", "ok", f"{name}: {address}")


def check_locks(root: Path) -> list[Check]:
    """Locks of DVC, git and this project, and workspaces that killed commands left."""
    try:
        require_usable(root)
    except UserError as error:
        return [Check("lock of DVC", "error", str(error), "every run needs it")]
    checks = _locks_of_dvc(root) + _lock_of_git(root)
    running = [lock.stem[:12] for lock in lock_folder(root).glob("*.lock") if is_lock_held(lock)]
    if running:
        found = f"{len(running)} stages are running: {', '.join(running)}"
        checks.append(Check("running", "warning", found, "a second run waits for them"))
    checks += _left_workspaces(root)
    return checks or [Check("locks", "ok", "none is held or left behind")]


def _locks_of_dvc(root: Path) -> list[Check]:
    """The lock of the whole workspace where it is held, and DVC's list of locked files.

    The system gives the first one back when its holder ends. The list stays as it was; its
    entries name processes.
    """
    name, advice = "lock of DVC", "wait for it, or end it"
    checks = []
    if is_lock_held(root / LOCK):
        checks.append(Check(name, "warning", f"{LOCK} is held by a DVC command", advice))
    listed = TEMPORARY / "rwlock"
    for process, command in sorted(_holders(root / listed)) if (root / listed).exists() else ():
        holder = f"{command} ({process})"
        if psutil.pid_exists(process):
            checks.append(Check(name, "warning", f"{listed} is held by {holder}", advice))
        else:
            found = f"{listed} names {holder}, which has ended"
            remedy = f"delete {listed} while no DVC command runs"
            checks.append(Check(name, "warning", found, remedy))
    return checks


def _holders(path: Path) -> set[tuple[int, str]]:
    """Process and command of each entry in DVC's list of locked files, which may be damaged."""
    try:
        document = read_json(path)
        held = list(document.get("write", {}).values())
        held += [entry for entries in document.get("read", {}).values() for entry in entries]
        return {(int(entry["pid"]), str(entry["cmd"])) for entry in held}
    except (UserError, AttributeError, KeyError, TypeError, ValueError):
        return {(-1, "a damaged list")}


def _lock_of_git(root: Path) -> list[Check]:
    try:
        path = root / run_git(root, "rev-parse", "--git-path", "index.lock")
    except UserError:
        return []  # no repository, which the tree's check says
    if not path.exists():
        return []
    minutes = (time.time() - path.stat().st_mtime) / _MINUTE
    found = f"{path} has existed for {minutes:.0f} minutes"
    advice = f"delete it (`rm {path}`) if no git command runs: until then no experiment is saved"
    return [Check("lock of git", "error", found, advice)]


def _left_workspaces(root: Path) -> list[Check]:
    folder = root / ".dvc/tmp/asterism/workspaces"
    points = [p for p in folder.glob("*/") if not is_lock_held(p.with_name(f"{p.name}.lock"))]
    # Of `dvc exp run --temp` and of queues.
    left = [*points, *sorted((root / TEMPORARY / "exps").glob("tmp*/"))]
    if not left:
        return []
    shown = left[0].relative_to(root)
    found = f"{len(left)} workspaces of experiments are left, such as {shown}"
    advice = "delete them while no sweep and no experiment runs; their results are in the cache"
    return [Check("workspaces", "warning", found, advice)]


def check_saved_runs() -> list[Check]:
    """Saved work of long stages, and what of it is in use, unfinished or damaged."""
    try:
        runs = saved_state.saved_runs()
    except (UserError, OSError) as error:
        return [Check("saved state", "error", str(error), "mend state.root in machine.yaml")]
    if not runs:
        return [Check("saved state", "ok", "none")]
    size = sum(entry.size for entry in runs) / 1e6
    used = sum(entry.status == "in use" for entry in runs)
    damaged = sum(entry.damaged for entry in runs)
    summary = f"{len(runs)} runs, {size:.0f} MB, {used} in use, {damaged} damaged parts"
    if damaged:
        return [Check("saved state", "warning", summary, "run `asterism state --clean`")]
    return [Check("saved state", "ok", summary)]
