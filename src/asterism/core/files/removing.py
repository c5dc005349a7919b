"""Removing folders of any depth, following no link.

The standard library takes a call and an open file for each level, so a folder of thousands of
levels, which whoever may write can make, would end the process that removes it.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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
