"""Checks that a path is a plain file or a plain folder: no link to elsewhere, and no pipe.

Whoever may write into a folder can put such things where a command writes. Through a link it would
write over files elsewhere, and a pipe it would wait for.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from asterism.core.messages.errors import UserError
from asterism.core.settings import machine

#: What systems answer that open a folder, a link or a socket as a file.
_NO_FILE = (errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.EOPNOTSUPP)

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def open_plain(path: Path, flags: int) -> int:
    """A descriptor of a file, which is made where nothing is.

    Args:
        path: its folder exists.
        flags: as ``os.open`` takes them.

    Raises:
        UserError: something else lies there.
        OSError: the system rejects it.
    """
    more = os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags | more, 0o666)
    except OSError as error:
        if error.errno in _NO_FILE:
            require_plain_file(path)
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        require_plain_file(path)
    return descriptor


def open_log(path: Path) -> int:
    """A descriptor to append to a log by; its folder is made where it is not there.

    Raises:
        UserError: as :func:`open_plain` and :func:`require_inside`.
    """
    require_inside(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return open_plain(path, os.O_WRONLY | os.O_APPEND)


def require_plain_file(path: Path) -> None:
    """Reject what is there and no plain file.

    Raises:
        UserError: it says what lies there.
    """
    if os.path.lexists(path) and not stat.S_ISREG(mode := path.lstat().st_mode):
        kind = next((name for is_one, name in _KINDS if is_one(mode)), "a device")
        raise UserError(f"{path} is {kind}, and a file belongs there: move it away")


def require_no_link(root: Path, path: Path) -> None:
    """Reject a file or folder if it, or a folder between a root and it, is a symbolic link.

    Args:
        root: may be a link itself.
        path: below it; need not exist.

    Raises:
        UserError: it names the link.
    """
    for place in _below(root, path):
        if place.is_symlink():
            raise UserError(f"{place} is a symbolic link, which nothing here follows: remove it")


def require_no_links_out_of(folder: Path) -> None:
    """Reject a folder in which a symbolic link, at any depth, leads out of it.

    Raises:
        UserError: it names the first.
    """
    home, waiting = folder.resolve(), [folder] if folder.is_dir() else []
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(home):
                    require_no_link(folder, Path(entry.path))
                waiting += [Path(entry.path)] if entry.is_dir(follow_symlinks=False) else []


def require_inside(path: Path) -> None:
    """Reject a path for results in the current folder, if a link on the way leads elsewhere.

    Folders of ``machine.yaml`` may be reached through links, since the user has named them. What
    lies at the path itself is replaced, and not followed.

    Raises:
        UserError: it names the link.
    """
    here, place = Path.cwd(), path.absolute()
    if place.is_relative_to(here):
        try:
            require_no_link(here, place.parent)
        except UserError:
            if machine.find_setting_of_path(place) is None:
                raise


def _below(root: Path, path: Path) -> Iterator[Path]:
    place = root
    for name in path.relative_to(root).parts:
        place /= name
        yield place
