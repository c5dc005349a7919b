"""Removing what long stages keep and nobody needs any more, and listing what there is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from asterism.core import machine
from asterism.core.console import get_logger
from asterism.core.errors import UserError
from asterism.core.state import Run, runs

log = get_logger(__name__)


@dataclass(frozen=True)
class Entry:
    """A run in the list of ``asterism state``.

    Attributes:
        run: the run.
        parts: how many are finished.
        damaged: how many folders were set aside.
        size: in bytes.
        days: since it was last used.
        status: ``in use``, ``committed`` (its outputs, by this project's DVC), ``finished`` (they
            are not, or not here) or ``unfinished``.
    """

    run: Run
    parts: int
    damaged: int
    size: int
    days: float
    status: str


def entries() -> list[Entry]:
    """All runs of which there is state."""
    now = server_time()
    return [
        Entry(run, len(run.parts()), len(run.damaged()), run.size(), run.days(now), _status(run))
        for run in runs()
    ]


def unneeded(entry: Entry, days: float) -> str | None:
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


def clean(entry: Entry, days: float, dry: bool) -> str:
    """Remove a run, or else what was set aside in it, as far as it is not needed; what was done.

    Args:
        entry: the run.
        days: see :func:`unneeded`.
        dry: remove nothing, say what would be.
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

    For the start of every stage: DVC starts no stage that is up to date, so another one has to.
    Nothing that goes wrong here stops it.
    """
    with suppress(OSError, UserError):
        for run, reason in _unneeded_runs():
            if run.remove():
                log.info("removed state", stage=run.stage, key=run.key, because=reason)


def server_time() -> float:
    """The time by the clock that files below ``state.root`` have their times of, in seconds.

    That may be a file server's. It is compared with times of these files, and with no other.
    """
    root = machine.state_root()
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=root, prefix=".now-") as file:
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
    return "unfinished" if run.token() is None else "finished"
