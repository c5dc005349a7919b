"""Errors of the operating system, such as a full disk, as one line that says what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from asterism.core.messages.errors import UserError
from asterism.core.settings import machine

_RIGHTS = "give yourself the right to read and write there"
_ROOM = "make room there"
_NO_FOLDER = "a folder belongs there, move it away"

#: What to do, by the reason. Any other rejection is a defect of Asterism's own.
_ADVICE = {
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: "mount it so that it can be written",
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.ENOTDIR: _NO_FOLDER,
    errno.EEXIST: _NO_FOLDER,
    errno.EISDIR: "a file belongs there, move it away",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "a symbolic link lies there, move it away",
}


@contextmanager
def report_os_errors() -> Iterator[None]:
    """A place that cannot be read or written is the user's error, wherever the block meets it.

    So is a lack of memory. For the top of a command or a stage: code below need not handle
    either.

    Raises:
        UserError: it names the place or the amount of memory, the reason and what to do.
    """
    try:
        yield
    except MemoryError as error:
        wanted = f" ({error})" if str(error) else ""
        raise UserError(
            f"there is not enough memory{wanted}: take less data or smaller models, "
            "or run fewer processes side by side"
        ) from None
    except OSError as error:
        if not (told := describe_os_error(error)):
            raise
        raise UserError(told) from None


def describe_os_error(error: OSError) -> str:
    """A line for a place that cannot be used: which, why and what to do; empty for other errors."""
    advice = _ADVICE.get(error.errno or 0)
    path = _path(error)
    if advice is None or (error.errno == errno.EEXIST and path is not None and path.is_dir()):
        return ""
    where = "a folder" if path is None else _culprit(path)
    other = "" if path is None else _elsewhere(path)
    reason = os.strerror(error.errno or 0)  # the error's own words may be a library's report
    return f"{where} cannot be used ({reason}): {advice}{other}"


@contextmanager
def name_path_in_os_errors(path: Path) -> Iterator[None]:
    """A rejection in the block names the path, where it names none: one to write never does."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def _path(error: OSError) -> Path | None:
    """What the system was asked for, the target where it was asked to move something."""
    asked = error.filename2 or error.filename
    return Path(os.fsdecode(asked)).absolute() if isinstance(asked, (str, bytes)) else None


def _culprit(path: Path) -> str:
    """The path as far as it is there: what could not be created is not what is in the way."""
    there = next(place for place in (path, *path.parents) if os.path.lexists(place))
    return f"the folder {there}" if there.is_dir() else f"the file {there}"


def _elsewhere(path: Path) -> str:
    """How the user can name another place, where a fact of the machine has named this one."""
    key = None
    with suppress(OSError, UserError):  # what tells these facts may be what cannot be read
        key = machine.find_setting_of_path(path)
    return "" if key is None else f", or name another by {machine.how_to_set(key)}"
