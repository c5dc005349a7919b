"""Locks and workspaces of DVC and git that a running or a killed command has in a project."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from asterism.core.files.artifacts import read_json
from asterism.core.files.limits import read_within
from asterism.core.files.locks import is_held
from asterism.core.files.plain_files import require_no_link, require_plain_file
from asterism.core.messages.errors import UserError

_TEMPORARY = Path(".dvc/tmp")

#: What DVC's commands hold while they work on a workspace.
LOCK = _TEMPORARY / "lock"

#: Files that DVC opens in a way that fails, waits or writes elsewhere where they are no files.
_FILES = ("lock", "rwlock", "rwlock.lock", "btime")


@dataclass(frozen=True)
class LeftLock:
    """A lock that is there.

    Attributes:
        path: its file, relative to the project.
        in_use: whether a process holds it, as far as can be seen.
        holder: what the file says about its holder; may be empty.
    """

    path: Path
    in_use: bool
    holder: str


def require_usable(project: Path) -> None:
    """Reject a workspace where something else lies in the place of DVC's locks.

    Raises:
        UserError: it names it.
    """
    require_no_link(project, project / _TEMPORARY)
    for name in _FILES:
        require_plain_file(project / _TEMPORARY / name)
    held = project / _TEMPORARY / "rwlock"
    with suppress(ValueError, FileNotFoundError):  # DVC is writing it, or says what is wrong
        try:
            json.loads(read_within(held, "limits.text_mb"))
        except RecursionError:
            raise UserError(
                f"{held} is nested too deeply: delete it while no DVC command runs"
            ) from None


def locks_of_dvc(project: Path) -> list[LeftLock]:
    """The lock of the whole workspace where it is held, and DVC's list of locked files.

    The system gives the first one back when its holder ends. The list stays as it was; its
    entries name processes.
    """
    found = []
    if is_held(project / LOCK):
        found.append(LeftLock(LOCK, True, "a DVC command"))
    entries = _TEMPORARY / "rwlock"
    if (project / entries).exists():
        for process, command in sorted(_entries(project / entries)):
            found.append(LeftLock(entries, psutil.pid_exists(process), f"{command} ({process})"))
    return found


def _entries(path: Path) -> set[tuple[int, str]]:
    """Process and command of each entry; the file may be damaged."""
    try:
        document = read_json(path)
        held = list(document.get("write", {}).values())
        held += [entry for entries in document.get("read", {}).values() for entry in entries]
        return {(int(entry["pid"]), str(entry["cmd"])) for entry in held}
    except (UserError, AttributeError, KeyError, TypeError, ValueError):
        return {(-1, "a damaged list")}


def temporary_experiments(project: Path) -> list[Path]:
    """Workspaces of ``dvc exp run --temp`` and of queues, which a killed one leaves."""
    return sorted((project / _TEMPORARY / "exps").glob("tmp*/"))
