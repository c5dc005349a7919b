"""A journal: facts that are appended to a file one by one, each there as soon as it is known.

Where a state is many small facts, each of which took seconds, saving it anew every ten seconds
would lose some to a kill. Each line has a digest of its own. So a line that a kill has cut off is
known, and damage takes only the lines that it hit.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from asterism.core.files.limits import read_within
from asterism.core.files.locks import held
from asterism.core.files.os_errors import writing_to
from asterism.core.files.plain_files import open_plain
from asterism.core.messages.errors import UserError
from asterism.core.resuming import saved_folders

#: Characters of a line's digest. They find damage, not forgery.
_DIGITS = 16


class Journal:
    """A file below ``state.root`` to which several processes may append.

    Args:
        path: of the file; it and its folder need not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[Any]:
        """All facts, the oldest first.

        A damaged file is set aside, and what is whole of it begins a new one. A last line that a
        kill has cut off is no damage.

        Raises:
            UserError: a symbolic link leads to its folder.
        """
        saved_folders.require_no_link(self._path.parent)
        with held(self._lock):
            if not os.path.lexists(self._path):
                return []
            content, reason = self._content()
            lines = content.split(b"\n")[:-1]
            facts = [fact for fact in map(_fact, lines) if fact is not None]
            if not reason and len(facts) < len(lines):
                reason = f"{len(lines) - len(facts)} of its {len(lines)} lines"
            if reason:
                saved_folders.set_aside(self._path, reason)
                self._write([_line(value) for (value,) in facts])
        return [value for (value,) in facts]

    def append(self, value: Any) -> None:
        """Add a fact, a JSON value. It outlives this process, however that ends."""
        with held(self._lock):
            self._write([_line(value)])

    @property
    def _lock(self) -> Path:
        return self._path.with_name(f"{self._path.name}.lock")

    def _content(self) -> tuple[bytes, str]:
        """The file's bytes, and what is wrong with it as a whole, if anything is."""
        if self._path.is_symlink():
            return b"", "it is a symbolic link"
        try:
            return read_within(self._path, "limits.text_mb"), ""
        except (OSError, UserError) as error:
            return b"", str(error)

    def _write(self, lines: list[bytes]) -> None:
        """Append lines, in the place of one that a kill has cut off."""
        opened = open_plain(self._path, os.O_RDWR | os.O_APPEND)
        with writing_to(self._path), os.fdopen(opened, "r+b") as file:
            if end := file.seek(0, os.SEEK_END):
                file.seek(end - 1)
                if file.read(1) != b"\n":
                    file.seek(0)
                    file.truncate(file.read().rfind(b"\n") + 1)
            file.write(b"".join(lines))


def _line(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    return _digest(text) + b" " + text + b"\n"


def _fact(line: bytes) -> tuple[Any] | None:
    """The value of a line, None where the line is not as it was written."""
    digest, _, text = line.partition(b" ")
    return (json.loads(text),) if digest == _digest(text) else None


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:_DIGITS].encode()
