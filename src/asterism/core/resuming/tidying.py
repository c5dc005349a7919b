"""Listing the saved state of long stages, and removing what is no longer needed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.core.resuming import saved_folders
from asterism.core.resuming.state import Run, runs, runs_folder
from asterism.core.settings import machine

log = get_logger(__name__)


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

    run: Run
    units: int
    damaged: int
    size: int
    days: float
    status: str


def entries() -> list[SavedRun]:
    """All runs that have state."""
    now = server_time()
    return [
        SavedRun(run, len(run.units()), len(run.damaged()), run.size(), run.days(now), _status(run))
        for run in runs()
    ]


def others() -> dict[str, int]:
    """Bytes of the other folders below ``state.root``, by name."""
    root = machine.state_root()
    folders = [f for f in root.glob("*/") if f != runs_folder() and not f.is_symlink()]
    return {folder.name: saved_folders.size(folder) for folder in sorted(folders)}


def unneeded(entry: SavedRun, days: float) -> str | None:
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


def clean(entry: SavedRun, days: float, dry: bool) -> str:
    """Remove a run that is not needed, or the damaged folders of one that is; what was done.

    Args:
        entry: the run.
        days: see :func:`unneeded`.
        dry: remove nothing, only say what would be removed.
    """
    reason = unneeded(entry, days)
    if reason is None and (not entry.damaged or entry.status == "in use"):
        return "kept"
    what = f"{entry.damaged} damaged" if reason is None else reason
    if dry:
        return f"would be removed: {what}"
    gone = entry.run.remove_damaged() if reason is None else entry.run.remove()
    return f"removed: {what}" if gone else "kept: it is in use by now, or cannot be removed"


def tidy() -> None:
    """Remove the runs whose outputs this workspace has committed, and those that are too old.

    Every stage calls it when it starts: DVC does not start a finished stage again, so another
    stage has to remove its state. Errors are ignored: no stage fails because of this.
    """
    with suppress(OSError, UserError):
        for run, reason in _unneeded_runs():
            if run.remove():
                log.info("removed state", stage=run.stage, key=run.key, because=reason)


def server_time(folder: Path | None = None) -> float:
    """The time in seconds by the clock that dates files below a folder.

    That may be a file server's clock. It is compared with times of these files only.

    Args:
        folder: exists; None for ``state.root``.
    """
    if folder is None:
        folder = machine.state_root()
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".now-") as file:
        return os.fstat(file.fileno()).st_mtime


def _unneeded_runs() -> Iterator[tuple[Run, str]]:
    if not (found := runs()):
        return
    now, days = server_time(), machine.state_days()
    for run in found:
        with suppress(FileNotFoundError):  # somebody else has removed it
            if run.is_committed():
                yield run, "its outputs are committed"
            elif not run.is_in_use() and run.is_too_old(days, now):
                yield run, f"unused for more than {days:g} days"


def _status(run: Run) -> str:
    if run.is_in_use():
        return "in use"
    if run.is_committed():
        return "committed"
    return "finished" if run.is_finished() else "unfinished"
