"""Opening zip archives that others made, checked before any of their content takes memory.

``.npz``, ``.keras`` and ``.pt2`` files are such archives. An archive can declare more than it
holds, hold the same bytes under many names, or unpack to a thousand times its size.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from asterism.core.files.limits import require_room, require_size
from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.core.settings.regular_files import open_regular

#: Bytes of the list of members: each takes at least 46 in the file, and more in memory.
_LARGEST_LIST = 16_000_000
#: Deflate packs at most 1,032 bytes into one (RFC 1951: 258 bytes into two bits).
_DEFLATE_RATIO = 1032
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

#: Where an archive's end states the size of its list, by the signature of the record.
_ENDS = {b"PK\x05\x06": ("<L", 12), b"PK\x06\x06": ("<Q", 40)}
#: The end lies before a comment of at most 65,535 bytes; with its 64-bit forms it takes 98.
_TAIL = 65_535 + 98


@contextmanager
def opened_zip(path: Path, limit: machine.Limit) -> Iterator[zipfile.ZipFile]:
    """A zip archive whose members together stay within the machine's limit.

    Members are stored or deflated, with different names and places in the file. None declares more
    than its bytes in the file can hold.

    Raises:
        UserError: the archive breaks one of these rules.
        zipfile.BadZipFile: the file is no archive, or is damaged.
        OSError: the file cannot be read.
    """
    require_size(path, limit)
    with open_regular(path) as file:
        _require_short_list(file, path)
        with zipfile.ZipFile(file) as archive:
            _require_honest(archive.infolist(), path)
            declared = sum(entry.file_size for entry in archive.infolist())
            require_room(declared, limit, f"{path} declares content")
            yield archive


def _require_short_list(file: BinaryIO, path: Path) -> None:
    """Reject a list of members that would itself fill the memory: Python reads all of it."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    tail = file.read()
    for signature, (form, offset) in _ENDS.items():
        at = tail.find(signature)
        while at >= 0:
            stated = tail[at + offset : at + offset + struct.calcsize(form)]
            if len(stated) == struct.calcsize(form):
                (length,) = struct.unpack(form, stated)
                if _LARGEST_LIST < length <= size:
                    raise UserError(f"{path} holds too many files: not opened")
            at = tail.find(signature, at + 1)


def _require_honest(entries: list[zipfile.ZipInfo], path: Path) -> None:
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < end:
            raise UserError(f"{path} holds {entry.filename} in the place of another file")
        end = entry.header_offset + len(entry.orig_filename) + entry.compress_size
        if entry.compress_type not in _METHODS or entry.flag_bits & 0x1:
            raise UserError(f"{path} holds {entry.filename} neither stored nor deflated")
        if entry.file_size > _most_held(entry):
            raise UserError(
                f"{path} declares {entry.file_size:,} bytes of {entry.filename}, which takes only "
                f"{entry.compress_size:,} in it: it is damaged"
            )
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        raise UserError(f"{path} holds two files of one name: not opened")


def _most_held(entry: zipfile.ZipInfo) -> int:
    deflated = entry.compress_type == zipfile.ZIP_DEFLATED
    return entry.compress_size * (_DEFLATE_RATIO if deflated else 1)
