"""Reading files within limits, which are checked before a file's content takes any memory.

A small file can declare an array, an archive or a picture that fills the memory, or values that
are nested too deeply for recursive code. What libraries still raise about a file becomes one line
by :func:`asterism.core.messages.errors.reading`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError, reading
from asterism.core.settings import machine
from asterism.core.settings.regular_files import open_regular

#: Levels of nested lists and mappings. A model inside a model takes about six.
_DEEPEST = 200
#: Bytes that Python takes for a small mapping, a list, and a value in either.
_MAPPING, _LIST, _VALUE = 240, 64, 60
#: Bytes in memory for each byte that a text may have.
_EXPANSION = 10


def require_room(wanted: int, limit: machine.Limit, what: str) -> None:
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
            f"check the file, or raise {machine.spelled(limit)}"
        )


def read_within(path: Path, limit: machine.Limit) -> bytes:
    """The content of a file that is no larger than the machine's limit.

    Raises:
        UserError: it is larger.
        OSError: it cannot be read, or is no plain file (a pipe, a device).
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        require_room(size, limit, f"{path} has a size")
        return file.read(size)


def require_size(path: Path, limit: machine.Limit) -> None:
    """Reject a file that is larger than the machine's limit.

    Raises:
        UserError: it is larger.
        OSError: it cannot be looked at, or is no plain file (a pipe, a device).
    """
    with open_regular(path) as file:
        require_room(os.fstat(file.fileno()).st_size, limit, f"{path} has a size")


def require_few_values(mappings: int, lists: int, values: int, source: str) -> None:
    """Reject a text of so many short values that they take far more memory than the text.

    Args:
        mappings, lists, values: most that the text can hold.
        source: where it is from, for messages.

    Raises:
        UserError: they take more than ten times ``limits.text_mb``.
    """
    taken = mappings * _MAPPING + lists * _LIST + values * _VALUE
    require_room(taken // _EXPANSION, "limits.text_mb", f"{source} holds the values of a text")


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
