"""Folders, and who may write to them.

Folders that others may have written to are looked through and removed without following links.

Folders of files that are executed are this user's own: only this user and root may write to them,
as for ssh's keys. Saved state, caches and results may lie where others write, since they are data.
What is executed, imported or unpickled lies here instead, and is looked at before each use.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from asterism.core.messages.errors import UserError
from asterism.core.settings import machine

#: Files and folders, and folders in one another, more of which are a mistake or an attack.
_MOST, _DEEPEST = 2_000_000, 60


def is_path_inside(folder: Path, path: Path) -> bool:
    """Whether a path leads into a folder, also after its links are followed."""
    try:
        target = path.resolve()
        circle = any(part.is_symlink() for part in (target, *target.parents))  # from Python 3.13 on
        return not circle and target.is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a circle of links, or a name that no file has
        return False


def list_plain_files(folder: Path, below: bool = True) -> list[Path]:
    """The plain files of a folder that somebody else may have made, in the order of their names.

    Links to folders are not followed, and links to files of the folder are such files. Pipes and
    devices are left out: to open one may wait for ever, or do something.

    Args:
        folder: may be reached through a link itself.
        below: whether files of its subfolders count too.

    Raises:
        UserError: a link leads out of the folder or to nothing, or the folder holds more than two
            million files or 60 levels of folders.
        OSError: a folder cannot be read.
    """
    found, seen, waiting = [], 0, [(folder, 0)]
    while waiting:
        place, depth = waiting.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                seen, path = seen + 1, Path(entry.path)
                if seen > _MOST or depth > _DEEPEST:
                    raise UserError(
                        f"{folder} holds more than {_MOST:,} files or {_DEEPEST} levels of "
                        "folders: name a smaller folder"
                    )
                if entry.is_symlink() and not (is_path_inside(folder, path) and path.exists()):
                    raise UserError(
                        f"{path} is a link that leads out of {folder}, or to nothing: put the file "
                        "itself there, or remove the link"
                    )
                if entry.is_dir(follow_symlinks=False):
                    waiting += [(path, depth + 1)] if below else []
                elif stat.S_ISREG(entry.stat().st_mode):
                    found.append(path)
    return sorted(found)


def remove_tree(folder: Path | str, parent: int | None = None) -> None:
    """Remove a folder and all below it, as far as permissions allow, and follow no links.

    Before Python 3.13, a folder of about a thousand levels is too deep for that, and stays.

    Args:
        folder: where it is; what is no folder stays.
        parent: descriptor of the folder that ``folder`` is relative to; None for the current one.
    """
    with suppress(OSError, RecursionError):
        status = os.stat(folder, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):  # a pipe would be waited for
            shutil.rmtree(folder, ignore_errors=True, dir_fd=parent)


#: Links on the way to a folder, more of which are a circle.
_MOST_LINKS = 40

_ROOT = 0


def make_private_folder(folder: Path) -> Path:
    """The folder, made where it is not there.

    Raises:
        UserError: somebody else can write to it, see :func:`require_private`.
    """
    for place in reversed((folder, *folder.parents)):  # all that is made is closed to others
        if not place.exists():
            place.mkdir(mode=0o700, exist_ok=True)
    require_private(folder)
    return folder


@contextmanager
def private_temporary_folder() -> Iterator[Path]:
    """A folder for scripts that are run and packages that they import; gone at the end.

    Raises:
        UserError: others can take its place, since they may rename what lies beside it.
    """
    with tempfile.TemporaryDirectory() as folder:
        require_private(Path(folder))
        yield Path(folder)


def require_private(path: Path) -> None:
    """Reject a file or folder that somebody else can change, or put another one in the place of.

    It, all folders above it, and all links on the way belong to this user or to root, and nobody
    else may write to them. In a folder like ``/tmp`` others may write, but not remove. Below a
    folder that nobody else may enter it does not matter who may write.

    Raises:
        UserError: it names the first that is open to others, and what mends it.
        OSError: it is not there.
    """
    place, closed, links = Path("/"), False, 0
    parts = list(reversed(path.absolute().parts[1:]))
    while True:
        status = place.lstat()
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise UserError(f"{path} is reached through a circle of symbolic links")
            _require_owner(place, status)
            # As the system does: step by step, since ``..`` leads out of what a link leads to.
            target = place.readlink()
            place, closed = (Path("/") if target.is_absolute() else place.parent), False
            parts += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        else:
            if not closed:
                _require_owner(place, status)
                _require_closed(place, status, is_last=not parts)
            is_mine = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
            closed = closed or (is_mine and not status.st_mode & 0o033)
            if not parts:
                return
        part = parts.pop()
        place, closed = (place.parent, False) if part == ".." else (place / part, closed)


def _require_owner(place: Path, status: os.stat_result) -> None:
    if status.st_uid not in (os.geteuid(), _ROOT):
        raise UserError(
            f"{place} belongs to another user, and what lies there is run: "
            f"`chown {os.geteuid()} {shlex.quote(str(place))}`, {_otherwise()}"
        )


def _require_closed(place: Path, status: os.stat_result, is_last: bool) -> None:
    """A folder like ``/tmp`` protects what lies in it, not what is looked for in it."""
    open_to_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if open_to_others and (is_last or not status.st_mode & stat.S_ISVTX):
        raise UserError(
            f"others may write to {place}, and what lies there is run: "
            f"`chmod go-w {shlex.quote(str(place))}`, {_otherwise()}"
        )


def _otherwise() -> str:
    setting = machine.how_to_set("programs.root")
    return f"or choose another folder by {setting}, of temporary files by TMPDIR"
