"""Folders that others may have written to, looked through and removed without following links.

To remove one, the standard library takes a call and an open file for each level. So a folder of
thousands of levels, which whoever may write can make, would end the process that removes it.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from asterism.core.messages.errors import UserError

#: Files and folders, and folders in one another, more of which are a mistake or an attack.
_MOST, _DEEPEST = 2_000_000, 60

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def lies_in(folder: Path, path: Path) -> bool:
    """Whether a path leads into a folder, also after its links are followed."""
    try:
        target = path.resolve()
        circle = any(part.is_symlink() for part in (target, *target.parents))  # from Python 3.13 on
        return not circle and target.is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a circle of links, or a name that no file has
        return False


def files_in(folder: Path, below: bool = True) -> list[Path]:
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
                if entry.is_symlink() and not (lies_in(folder, path) and path.exists()):
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
    """Remove a folder and all below it, as far as permissions allow; nothing else is touched.

    Args:
        folder: where it is.
        parent: descriptor of the folder that ``folder`` is relative to; None for the current one.
    """
    with suppress(OSError):  # it is not there, or no folder
        top = os.open(folder, _FOLDER, dir_fd=parent)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(folder, dir_fd=parent)


def _empty(top: int) -> None:
    """Remove what a folder holds. Folders in its folders are moved up first, so none lies deep."""
    waiting, moved, token = _without_files(top), 0, secrets.token_hex(8)
    while waiting:
        name = waiting.pop()
        with suppress(OSError):
            folder = os.open(name, _FOLDER, dir_fd=top)
            try:
                for below in _without_files(folder):
                    with suppress(OSError):
                        moved += 1
                        os.rename(below, f"{token}-{moved}", src_dir_fd=folder, dst_dir_fd=top)
                        waiting.append(f"{token}-{moved}")
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=top)


def _without_files(folder: int) -> list[str]:
    """The folders in a folder, all else in which is removed."""
    folders = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                with suppress(OSError):
                    os.unlink(entry.name, dir_fd=folder)
    return folders
