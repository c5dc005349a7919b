"""Runs that have state: which of them DVC has committed, and which are no longer needed.

Loading DVC takes a second and more, and every stage looks here when it starts. So ``dvc.lock`` and
the cache are read as files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.core.resuming import saved_folders
from asterism.core.resuming.state import RunState, runs_folder, runs_with_state, server_time
from asterism.core.settings import machine
from asterism.dvc_hydra.cache_files import is_digest
from asterism.dvc_hydra.cache_objects import members_of
from asterism.dvc_hydra.local_settings import cache_folder
from asterism.dvc_hydra.lockfile import read_locked_stage
from asterism.dvc_hydra.run_cache import has_outputs

log = get_logger(__name__)


def is_committed(run: RunState) -> bool:
    """Whether a run's stage finished in this workspace, and DVC has committed its outputs.

    Nothing in other workspaces is read: anybody may have written the note that names them. What
    cannot be read counts as not committed.
    """
    note = run.note()
    if note is None or note.get("workspace") != str(Path.cwd()):
        return False
    with suppress(UserError, OSError, LookupError, TypeError, ValueError, AttributeError):
        return are_committed(note["stage"], note["outputs"])
    return False


def are_committed(stage: str, outputs: Mapping[str, Any]) -> bool:
    """Whether ``dvc.lock`` here names these outputs of a stage, and the cache has every file.

    ``dvc.lock`` alone does not suffice: a fresh clone has it, with an empty cache.

    Args:
        stage: as DVC calls it, ``fuzz@state``.
        outputs: by path: MD5 of a file, or of each of a folder's files by its path in the folder.
    """
    cache, entry = cache_folder(Path.cwd()), read_locked_stage(Path.cwd(), stage) or {}
    locked = {out["path"]: out["md5"] for out in entry.get("outs", [])}
    if not locked or not all(map(is_digest, locked.values())):
        return False
    held = {p: members_of(cache, d) if d.endswith(".dir") else d for p, d in locked.items()}
    return held == outputs and has_outputs(cache, entry)


@dataclass(frozen=True)
class SavedRun:
    """A run in the list of ``asterism state``.

    Attributes:
        run: the run.
        units: how many are finished.
        damaged: how many damaged folders there are.
        size: in bytes.
        days: since it was last used.
        status: ``in use``; ``committed``: DVC has its outputs, in this workspace; ``finished``:
            its outputs are written, and not committed in this workspace; or ``unfinished``.
    """

    run: RunState
    units: int
    damaged: int
    size: int
    days: float
    status: str


def saved_runs() -> list[SavedRun]:
    """All runs that have state."""
    now = server_time()
    return [
        SavedRun(run, len(run.units()), len(run.damaged()), run.size(), run.days(now), _status(run))
        for run in runs_with_state()
    ]


def other_folder_sizes() -> dict[str, int]:
    """Bytes of the other folders below ``state.root``, by name."""
    root = machine.state_root()
    folders = [f for f in root.glob("*/") if f != runs_folder() and not f.is_symlink()]
    return {folder.name: saved_folders.size(folder) for folder in sorted(folders)}


def removal_reason(entry: SavedRun, days: float) -> str | None:
    """Why a run can be removed; None where it cannot.

    Args:
        entry: the run.
        days: a run that was unused for more is not needed.
    """
    if entry.status == "in use":
        return None
    if entry.status == "committed":
        return "its outputs are committed"
    return f"unused for {entry.days:.1f} days" if entry.days >= days else None


def clean_run(entry: SavedRun, days: float, dry: bool) -> str:
    """Remove a run that is not needed, or the damaged folders of one that is; what was done.

    Args:
        entry: the run.
        days: see :func:`removal_reason`.
        dry: remove nothing, only say what would be removed.
    """
    reason = removal_reason(entry, days)
    if reason is None and (not entry.damaged or entry.status == "in use"):
        return "kept"
    what = f"{entry.damaged} damaged" if reason is None else reason
    if dry:
        return f"would be removed: {what}"
    gone = entry.run.remove_damaged() if reason is None else entry.run.remove()
    return f"removed: {what}" if gone else "kept: it is in use by now, or cannot be removed"


def remove_unneeded_state() -> None:
    """Remove the runs whose outputs this workspace has committed, and those that are too old.

    Every stage calls it when it starts: DVC does not start a finished stage again, so another
    stage has to remove its state. Errors are ignored: no stage fails because of this.
    """
    with suppress(OSError, UserError):
        for run, reason in _unneeded_runs():
            if run.remove():
                log.info("removed state", stage=run.stage, key=run.key, because=reason)


def _unneeded_runs() -> Iterator[tuple[RunState, str]]:
    if not (found := runs_with_state()):
        return
    now, days = server_time(), machine.state_days()
    for run in found:
        with suppress(FileNotFoundError):  # somebody else has removed it
            if is_committed(run):
                yield run, "its outputs are committed"
            elif not run.is_in_use() and run.is_too_old(days, now):
                yield run, f"unused for more than {days:g} days"


def _status(run: RunState) -> str:
    if run.is_in_use():
        return "in use"
    if is_committed(run):
        return "committed"
    return "unfinished" if run.note() is None else "finished"
