"""The state that long stages keep below ``state.root``: one folder for each run, by its key.

A run's folder holds its finished units, a ``….checkpoint`` beside each unit in progress, and
damaged folders under other names. Each process that works with a run shares the
run's lock, so no other removes it. A finished run stays until DVC has committed its outputs.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_json, write_json
from asterism.core.files.hashes import compute_md5
from asterism.core.files.locks import hold_lock_now, is_lock_held, share_lock
from asterism.core.messages.errors import UserError
from asterism.core.resuming import saved_folders
from asterism.core.settings import machine

_DAY = 86400.0

#: Days that must lie between the first time that a run was found too old and its removal. So one
#: jump of a clock removes nothing.
_DAYS_OF_GRACE = 1.0

_KEY = re.compile(r"[0-9a-f]{32}")

_LOCK, _FINISHED, _OLD = "in-use.lock", "finished.json", "found-old"

_CHECKPOINT = ".checkpoint"


@dataclass(frozen=True)
class RunState:
    """The state of one run of a stage.

    Attributes:
        stage: its name, with its variant (``"fuzz-state"``).
        key: 32 characters of the hash of what its result depends on.
    """

    stage: str
    key: str

    @property
    def folder(self) -> Path:
        """Where its state lies."""
        return runs_folder() / saved_folders.checked_name(self.stage) / self.key

    def unit(self, name: str) -> Path:
        """Folder of a finished unit."""
        return self.folder / saved_folders.checked_name(name)

    def checkpoint(self, name: str) -> Path:
        """Folder of the states of an unfinished unit."""
        return self.folder / f"{name}{_CHECKPOINT}"

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the run from being removed while the block lasts.

        Raises:
            UserError: a symbolic link leads to it.
        """
        saved_folders.require_no_link(self.folder)
        with share_lock(self.folder / _LOCK):
            os.utime(self.folder / _LOCK, follow_symlinks=False)  # its age begins anew
            yield

    def is_in_use(self) -> bool:
        """Whether a process works with it."""
        return is_lock_held(self.folder / _LOCK)

    def finish(self, stage: str, outputs: Sequence[Path]) -> None:
        """Note that the stage has written its outputs, which DVC has yet to commit, and their MD5.

        Args:
            stage: as DVC calls it, ``fuzz@state``.
            outputs: relative to the workspace.
        """
        note = {
            "workspace": str(Path.cwd()),
            "stage": stage,
            "outputs": {path.as_posix(): _content(path) for path in outputs if path.exists()},
        }
        write_json(self.folder / _FINISHED, note)

    def note(self) -> dict[str, Any] | None:
        """What :meth:`finish` has noted; None where its stage has not written its outputs."""
        path = self.folder / _FINISHED
        if path.is_symlink() or not path.is_file():
            return None
        with suppress(UserError, RecursionError):
            note = read_json(path)
            return note if isinstance(note, dict) else None
        return None

    def remove(self) -> bool:
        """Remove it, unless a process works with it; whether it is gone."""
        self._remove(lambda: [self.folder])
        return not os.path.lexists(self.folder)

    def units(self) -> list[str]:
        """Names of the finished units."""
        whole = [name for name in _names(self.folder) if not saved_folders.is_damaged(name)]
        return [name for name in whole if not name.endswith(_CHECKPOINT)]

    def damaged(self) -> list[Path]:
        """Damaged folders that got another name: units, and states of unfinished units."""
        own = [self.folder / name for name in _names(self.folder)]
        states = [state for f in own if f.suffix == _CHECKPOINT for state in sorted(f.iterdir())]
        return [path for path in (*own, *states) if saved_folders.is_damaged(path.name)]

    def remove_damaged(self) -> bool:
        """Remove damaged folders, unless a process works with the run; whether they are gone."""
        self._remove(self.damaged)
        return not self.damaged()

    def _remove(self, found: Callable[[], list[Path]]) -> None:
        """Remove folders, which are looked for once no process works with the run."""
        with suppress(BlockingIOError, UserError):
            saved_folders.require_no_link(self.folder)
            with hold_lock_now(self.folder / _LOCK):
                for folder in found():
                    saved_folders.remove(folder)

    def size(self) -> int:
        """Bytes of all its files, see :func:`asterism.core.resuming.saved_folders.size`."""
        return saved_folders.size(self.folder)

    def days(self, now: float) -> float:
        """Days since a process last began, saved or finished anything in it.

        Args:
            now: see :func:`server_time`.
        """
        with os.scandir(self.folder) as entries:
            times = [e.stat(follow_symlinks=False).st_mtime for e in entries if e.name != _OLD]
        return max(0.0, now - max(times, default=now)) / _DAY

    def is_too_old(self, days: float, now: float) -> bool:
        """Whether it is unused for so many days, and was found so at least a day ago.

        The first time it is found so is noted in the folder.

        Args:
            days: unused for fewer, it is not too old.
            now: see :func:`server_time`.
        """
        mark = self.folder / _OLD
        if self.days(now) <= days:
            mark.unlink(missing_ok=True)
            return False
        if not os.path.lexists(mark):
            mark.touch(exist_ok=False)
            return False
        return now - mark.lstat().st_mtime >= _DAYS_OF_GRACE * _DAY


def _content(path: Path) -> str | dict[str, str]:
    """MD5 of a file, or of each of a folder's files by relative path."""
    if not path.is_dir():
        return compute_md5(path)
    found = sorted(file for file in path.rglob("*") if file.is_file())
    return {file.relative_to(path).as_posix(): compute_md5(file) for file in found}


def runs_with_state() -> list[RunState]:
    """All runs that have state, by stage and key; links and other names are left out."""
    root = runs_folder()
    return [RunState(stage, key) for stage in _names(root) for key in _names(root / stage, _KEY)]


def runs_folder() -> Path:
    """Where the state of all runs lies."""
    return machine.state_root() / "units"


def _names(folder: Path, pattern: re.Pattern[str] = saved_folders.NAME) -> list[str]:
    """Names of a folder's own folders, as far as they are of the form that is written here."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return sorted(name for name in names if pattern.fullmatch(name))


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
