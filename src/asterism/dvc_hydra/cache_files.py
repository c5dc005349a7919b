"""Files of DVC's caches and remotes: links are rejected, what dead processes left is removed."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from asterism.core.messages.errors import UserError
from asterism.core.resuming.state import server_time

#: Under such a name DVC writes what it then renames. It removes none after a crash, and after a
#: full disk not all.
_TEMPORARY = re.compile(r"\.[\w-]{22}\.tmp")

_DIGEST = re.compile(r"[0-9a-f]{32}(\.dir)?")

#: Seconds after its last write from which a temporary file counts as left.
_LEFT = 3600.0


def require_plain(cache: Path) -> None:
    """Reject a cache that holds more than files and folders, before anything in it is opened.

    Through a link DVC and :mod:`asterism.dvc_hydra.run_cache` would read, write and remove files
    elsewhere, and a pipe would be waited for. The cache itself may be a link: who set it up has
    chosen where it leads. Temporary files that nobody has written to for an hour are removed.

    Args:
        cache: its folder.

    Raises:
        UserError: it names the first that is neither.
    """
    for item in _found_below(cache):
        if not item.is_file(follow_symlinks=False):
            kind = "a link" if item.is_symlink() else "no plain file"
            raise UserError(
                f"the cache is not used: {os.path.relpath(item.path)!r} is {kind}, and "
                "DVC's caches hold files and folders only; remove it (for a cache that "
                "lies elsewhere, name its folder by `dvc cache dir`)"
            )
    remove_left(cache)


def is_digest(text: str) -> bool:
    """Whether a text is the MD5 of a file, or with ``.dir`` that of the list of a folder's."""
    return _DIGEST.fullmatch(text) is not None


def md5_of(file: Path) -> str:
    """MD5 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def object_path(cache: Path, digest: str) -> Path:
    """Where a cache has, or would have, what has this hash."""
    return cache / "files/md5" / digest[:2] / digest[2:]


def remove_left(folder: Path) -> None:
    """Remove temporary files that nobody has written to for an hour, as far as that is allowed.

    Args:
        folder: of a cache, or of a remote that is a folder.
    """
    named = [i for i in _found_below(folder) if _TEMPORARY.fullmatch(i.name)]
    temporary = [Path(item.path) for item in named if item.is_file(follow_symlinks=False)]
    if not temporary:
        return
    with suppress(OSError):  # no room, or not ours to write into: the next command may
        now = server_time(folder)
        for file in temporary:
            with suppress(FileNotFoundError):
                if now - file.stat().st_mtime > _LEFT:
                    file.unlink()


def _found_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Everything but folders, at any depth."""
    folders = [folder]
    while folders:
        with suppress(FileNotFoundError), os.scandir(folders.pop()) as found:
            for item in found:
                if item.is_dir(follow_symlinks=False):
                    folders.append(Path(item.path))
                else:
                    yield item
