"""Folders of saved state: written whole, checked when read, removed without following links.

They lie below ``state.root``, which may be shared on a file server, damaged, or written by somebody
else. So a folder holds the digest of each of its files, and nothing is read or removed through a
symbolic link. Somebody who may write there can change what a stage computes with, but no file
elsewhere.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from asterism.core.files import plain_files
from asterism.core.files.artifacts import read_json, replacing, write_json
from asterism.core.files.folders import remove_tree
from asterism.core.files.limits import require_size_within_limit
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError, extract_reason
from asterism.core.settings import machine

log = get_logger(__name__)

R = TypeVar("R")

#: The file that holds the digests of the others.
DIGESTS = "digests.json"

#: Stands between the name and a number in the new name of a damaged folder.
_ASIDE = ".damaged-"

#: Names of folders below ``state.root``. They may be longer than a label, which they can contain.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

#: How often a folder is looked at that another process is replacing.
_LOOKS = 3

#: What readers raise because of wrong content. Other errors of the system may be temporary.
_WRONG = (
    UserError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    EOFError,
    RecursionError,
    zipfile.BadZipFile,
    zlib.error,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
)


#: Rejections of the system that are about what lies there.
_UNREADABLE = {
    errno.EIO: "the disk cannot read it",
    errno.ENAMETOOLONG: "its folders are nested too deeply",
}


class DamagedError(Exception):
    """A folder of saved state does not hold what was written."""


def checked_name(name: str) -> str:
    """The name, where it can be a folder's.

    Raises:
        UserError: it would lead to another folder.
    """
    if not NAME.fullmatch(name):
        raise UserError(
            f"{name!r} cannot name a folder of saved state: use letters, digits, '_', '-' and '.'"
        )
    return name


def place(*names: str) -> Path:
    """Where something lies below the state's root, by the names of folders and of it.

    Raises:
        UserError: a link leads out of the state's root.
    """
    path = machine.state_root().joinpath(*names)
    require_no_link(path)
    return path


def write(
    folder: Path, fill: Callable[[Path], None], kept: Mapping[Path, str] = MappingProxyType({})
) -> dict[str, str]:
    """Save into a new folder, in one step.

    Args:
        folder: where; nothing is there yet.
        fill: writes the files into a folder that holds nothing but what is kept.
        kept: files of a folder beside it that hold no other content here, with their digests.
            They are linked: neither written nor read again.

    Returns:
        The digest of each file, by its path in the folder.

    Raises:
        UserError: a link leads out of the state's root, or a file is larger than
            ``limits.array_mb``.
    """
    require_no_link(folder.parent)
    with replacing(folder) as temporary:
        temporary.mkdir()
        known: dict[str, str] = {}
        for file, digest in kept.items():
            name = Path(*file.relative_to(folder.parent).parts[1:])
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(file, temporary / name, follow_symlinks=False)
            known[name.as_posix()] = digest
        fill(temporary)
        digests = _digests(temporary, known)
        write_json(temporary / DIGESTS, digests)
    return digests


def read(folder: Path, load: Callable[[Path], R]) -> R:
    """What ``load`` reads in a folder that :func:`write` has written.

    Raises:
        DamagedError: a file is missing, changed, a link or of another kind, or ``load`` finds
            something wrong in it.
        UserError: a link leads out of the state's root.
    """
    require_no_link(folder.parent)
    try:
        if folder.is_symlink():
            raise DamagedError("it is a symbolic link")
        found = _digests(folder)
        if not (folder / DIGESTS).is_file() or read_json(folder / DIGESTS) != found:
            raise DamagedError("its files are not those that were written")
        return load(folder)
    except _WRONG as error:
        raise DamagedError(extract_reason(str(error)) or type(error).__name__) from error
    except OSError as error:
        if error.errno not in _UNREADABLE:
            raise
        raise DamagedError(_UNREADABLE[error.errno]) from error


def look(find: Callable[[], Path | None], load: Callable[[Path], R]) -> R | None:
    """What ``load`` reads in a folder that other processes may replace at any moment.

    Args:
        find: gives the folder of the moment; None where there is none.
        load: as for :func:`read`; the folder may be gone afterwards.
    """
    for _ in range(_LOOKS):
        if (folder := find()) is None:
            break
        with suppress(DamagedError):
            return read(folder, load)
    return None


def set_aside(folder: Path, reason: object) -> None:
    """Give a damaged folder another name, and say so: what it held is computed again."""
    number = 0
    while os.path.lexists(kept := folder.with_name(f"{folder.name}{_ASIDE}{number}")):
        number += 1
    folder.rename(kept)
    log.warning("damaged, computed again", path=str(folder), kept=kept.name, reason=str(reason))


def is_damaged(name: str) -> bool:
    """Whether :func:`set_aside` gave a folder this name."""
    return _ASIDE in name


def require_no_link(folder: Path) -> None:
    """Reject a folder below the state's root to which a symbolic link leads.

    Raises:
        UserError: it names the link.
    """
    plain_files.require_no_link(machine.state_root(), folder)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder below the state's root, as far as permissions allow.

    No link is followed, not even one that takes a folder's place at this very moment.
    """
    root = machine.state_root()
    *above, name = path.relative_to(root).parts
    try:
        parent = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for folder in above:
                below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
                os.close(parent)
                parent = below
            _remove_in(parent, name)
        finally:
            os.close(parent)
    except OSError as error:
        log.warning("not removed", path=str(path), reason=os.strerror(error.errno or 0))


def size(folder: Path) -> int:
    """Bytes of all files below a folder; links are counted and not followed."""
    total, waiting = 0, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_size
                    waiting += [Path(entry.path)] if entry.is_dir(follow_symlinks=False) else []
        except OSError as error:  # what lies too deep for a path is passed over
            if error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
                raise
    return total


def _remove_in(parent: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        pass
    except (IsADirectoryError, PermissionError):  # what systems answer for a folder
        remove_tree(name, parent)


def _digests(folder: Path, known: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """SHA-256 of every file below a folder, by path, but of the digests themselves.

    Args:
        folder: the folder.
        known: what need not be computed.

    Raises:
        DamagedError: there is something that is neither a file nor a folder.
    """
    found: dict[str, str] = {}
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    name = Path(entry.path).relative_to(folder).as_posix()
                    found[name] = known[name] if name in known else _digest(entry.path)
                else:
                    raise DamagedError(f"{entry.name} is a link or no file")
    found.pop(DIGESTS, None)
    return found


def _digest(path: str) -> str:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        size = os.fstat(file.fileno()).st_size  # what is larger no reader takes
        require_size_within_limit(size, "limits.array_mb", f"{path} has a size")
        return hashlib.file_digest(file, "sha256").hexdigest()
