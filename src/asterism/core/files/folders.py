"""Folders of files that somebody else may have made, looked through without following links."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from asterism.core.files.user_files import lies_in
from asterism.core.messages.errors import UserError

#: Files and folders, and folders in one another, more of which are a mistake or an attack.
_MOST, _DEEPEST = 2_000_000, 60


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
