"""Limits on what is read: sizes of files, and what archives, JSON and headers declare.

A small file can declare an array, an archive or a picture that fills the memory, or values that
are nested too deeply for recursive code. What libraries still raise about a file becomes one line
by :func:`asterism.core.messages.errors.reading`.

``.npz``, ``.keras`` and ``.pt2`` files are zip archives. An archive can declare more than it holds,
hold the same bytes under many names, or unpack to a thousand times its size.
"""

from __future__ import annotations

import json
import os
import struct
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from asterism.core.messages.errors import UserError, reading
from asterism.core.settings import machine
from asterism.core.settings.regular_files import open_regular

#: Levels of nested lists and mappings. A model inside a model takes about six.
_DEEPEST = 200
#: Bytes that Python takes for a small mapping, a list, and a value in either.
_MAPPING, _LIST, _VALUE = 240, 64, 60
#: Bytes in memory for each byte that a text may have.
_EXPANSION = 10

#: Bytes of the list of members: each takes at least 46 in the file, and more in memory.
_LARGEST_LIST = 16_000_000

#: Deflate packs at most 1,032 bytes into one (RFC 1951: 258 bytes into two bits).
_DEFLATE_RATIO = 1032

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Where an archive's end states the size of its list, by the signature of the record.
_ENDS = {b"PK\x05\x06": ("<L", 12), b"PK\x06\x06": ("<Q", 40)}

#: The end lies before a comment of at most 65,535 bytes; with its 64-bit forms it takes 98.
_TAIL = 65_535 + 98


def require_size_within_limit(wanted: int, limit: machine.Limit, what: str) -> None:
    """Reject a size that exceeds this machine's limit, before the memory is allocated.

    Args:
        wanted: bytes that the file declares.
        limit: which of the machine's limits holds.
        what: the file and what it declares, ``"images.npz declares arrays"``.

    Raises:
        UserError: it names the limit and where to raise it.
    """
    allowed = machine.limit(limit)
    if wanted > allowed:
        raise UserError(
            f"{what} of {_megabytes(wanted)} MB, and the limit is {_megabytes(allowed)} MB: "
            f"check the file, or raise {machine.how_to_set(limit)}"
        )


def read_within_limit(path: Path, limit: machine.Limit) -> bytes:
    """The content of a file that is no larger than the machine's limit.

    Raises:
        UserError: it is larger.
        OSError: it cannot be read, or is no plain file (a pipe, a device).
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        require_size_within_limit(size, limit, f"{path} has a size")
        return file.read(size)


def require_file_within_limit(path: Path, limit: machine.Limit) -> None:
    """Reject a file that is larger than the machine's limit.

    Raises:
        UserError: it is larger.
        OSError: it cannot be looked at, or is no plain file (a pipe, a device).
    """
    with open_regular(path) as file:
        require_size_within_limit(os.fstat(file.fileno()).st_size, limit, f"{path} has a size")


def require_few_values(mappings: int, lists: int, values: int, source: str) -> None:
    """Reject a text of so many short values that they take far more memory than the text.

    Args:
        mappings, lists, values: most that the text can hold.
        source: where it is from, for messages.

    Raises:
        UserError: they take more than ten times ``limits.text_mb``.
    """
    taken = mappings * _MAPPING + lists * _LIST + values * _VALUE
    require_size_within_limit(
        taken // _EXPANSION, "limits.text_mb", f"{source} holds the values of a text"
    )


def parse_json(text: str | bytes, source: str) -> Any:
    """A JSON document of bounded depth.

    Args:
        text: whose size has been checked; bytes are UTF-8.
        source: where it is from, for messages.

    Raises:
        UserError: it is not JSON, nested too deeply, or of too many values.
    """
    with reading(source):
        plain = text if isinstance(text, str) else text.decode("utf-8")
        mappings, lists, commas = map(plain.count, "{[,")
        require_few_values(mappings, lists, commas, source)
        document = json.loads(plain)
        level = _inside([[document]])
        for _ in range(_DEEPEST):
            level = _inside(level)
        if level:
            raise RecursionError
    return document


def _inside(nodes: list[Any]) -> list[Any]:
    """Lists and mappings among the values of nodes: the next level, without recursion."""
    found: list[Any] = []
    for node in nodes:
        values: Iterable[Any] = node.values() if isinstance(node, dict) else node
        found += [value for value in values if isinstance(value, (dict, list))]
    return found


def _megabytes(size: int) -> str:
    return f"{size / machine.MB:,.0f}" if size >= machine.MB else f"{size / machine.MB:.3g}"


@contextmanager
def open_zip(path: Path, limit: machine.Limit) -> Iterator[zipfile.ZipFile]:
    """A zip archive whose members together stay within the machine's limit.

    Members are stored or deflated, with different names and places in the file. None declares more
    than its bytes in the file can hold.

    Raises:
        UserError: the archive breaks one of these rules.
        zipfile.BadZipFile: the file is no archive, or is damaged.
        OSError: the file cannot be read.
    """
    require_file_within_limit(path, limit)
    with open_regular(path) as file:
        _require_short_list(file, path)
        with zipfile.ZipFile(file) as archive:
            _require_honest(archive.infolist(), path)
            declared = sum(entry.file_size for entry in archive.infolist())
            require_size_within_limit(declared, limit, f"{path} declares content")
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
            raise UserError(f"{path} holds {entry.filename} in the same place as another file")
        end = entry.header_offset + len(entry.orig_filename) + entry.compress_size
        if entry.compress_type not in _METHODS or entry.flag_bits & 0x1:
            raise UserError(f"{path} holds {entry.filename} neither stored nor deflated")
        ratio = _DEFLATE_RATIO if entry.compress_type == zipfile.ZIP_DEFLATED else 1
        if entry.file_size > ratio * entry.compress_size:
            raise UserError(
                f"{path} declares {entry.file_size:,} bytes of {entry.filename}, which takes only "
                f"{entry.compress_size:,} in it: it is damaged"
            )
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        raise UserError(f"{path} holds two files of one name: not opened")
