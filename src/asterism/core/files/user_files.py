"""Files of the user that parameters name and stages depend on.

DVC needs a path for each, also where no file is wanted.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated

from pydantic import AfterValidator, Field

from asterism.core.files.folders import is_path_inside
from asterism.core.messages.errors import UserError

#: The committed placeholder that stands for no file of the user's.
NO_FILE = "conf/no_file"

#: The beginning of a URL, which DVC would fetch over the network. ``./a:b`` is a path.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _require_local(path: str) -> str:
    if _SCHEME.match(path) or not path.isprintable():
        raise ValueError(
            f"{path!a} is no path of a file on this machine: fetch the file, and name it by its "
            "path (./a:b where that has a colon)"
        )
    return path


#: A path on this machine, from the project's root or absolute.
File = Annotated[str, Field(min_length=1), AfterValidator(_require_local)]


def no_file(instead: str) -> AfterValidator:
    """Marks a path that has to be the placeholder, for ``Annotated``.

    Args:
        instead: the choice that reads a file, ``"rnn=file"``.
    """

    def require(path: str) -> str:
        if path != NO_FILE:
            raise ValueError(f"{path!r} is not read here: choose {instead} as well")
        return path

    return AfterValidator(require)


def absolute_path(path: Path) -> Path:
    """A path from the root, with the name that was given: a link's own, not that of its target.

    Caches of downloads keep files under numbers, and links with the names that say what they are.
    """
    named = path.name not in ("", "..")
    return path.parent.resolve() / path.name if named else path.resolve()


def resolve_inside(folder: Path, name: str, source: str) -> Path:
    """The path of a file that another file names, which must lie in the folder or below it.

    A stage that depends on a folder runs again only when a file in it changes. So no file outside
    is read: neither by an absolute path, nor by ``..``, nor through a link.

    Args:
        folder: on which the stage depends.
        name: relative to it.
        source: what names the file, for the message.

    Raises:
        UserError: the file lies elsewhere.
    """
    absolute = PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute()
    path = folder / name
    if absolute or ".." in PurePosixPath(name).parts or not is_path_inside(folder, path):
        raise UserError(
            f"{source} names {name!r}, which is not in {folder}: put the file there, and write its "
            "path relative to that folder"
        )
    return path
