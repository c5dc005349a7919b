"""The only way to standard output and error: text from others cannot control the terminal.

What this project says goes through :func:`say`. What libraries print goes through an
:class:`EscapedStream`, which every process that a terminal may show has (:func:`escape_streams`).
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
from typing import Any, TextIO

from asterism.core.messages.errors import shorten_line
from asterism.core.messages.escaping import printable

#: Characters of a line: what it quotes of a file may be of any length.
_LONGEST = 10_000

#: What a library prints beside text: lines, and for terminals colours and the moves of bars.
_LAYOUT = re.compile(r"(\x1b\[(?:[0-9;]*m|[0-9]?[AK]|\?25[hl])|[\n\t\r])")


def say(*lines: str, error: bool = False) -> None:
    """Print lines; where nobody reads them any more, this process ends, as a pipe's sender does.

    Args:
        lines: each ends up on one line, shortened where it is very long.
        error: print on standard error. Its reader may be gone.
    """
    _print("".join(f"{shorten_line(printable(line), _LONGEST)}\n" for line in lines), error)


def say_json(facts: Any) -> None:
    """Print a value as JSON for programs, whole and in ASCII."""
    _print(json.dumps(facts, indent=1) + "\n", error=False)


def _print(text: str, error: bool) -> None:
    stream = sys.stderr if error else sys.stdout
    if stream is None:  # it was closed before this process started
        return
    try:
        stream.write(_encodable(text, stream))
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # for what is still buffered
        if not error:
            raise SystemExit(128 + signal.SIGPIPE) from None


def _encodable(text: str, stream: TextIO) -> str:
    """The text without characters that a stream's encoding does not have."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, errors="backslashreplace").decode(encoding)


class EscapedStream(io.TextIOBase):
    """A stream that libraries print on, of which a terminal sees text, colours and progress bars.

    Args:
        beneath: standard output or error.
    """

    def __init__(self, beneath: TextIO) -> None:
        self.beneath = beneath

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream."""
        return self.beneath.encoding

    def fileno(self) -> int:
        """The stream's descriptor."""
        return self.beneath.fileno()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self.beneath.isatty()

    def writable(self) -> bool:
        """It is."""
        return True

    def flush(self) -> None:
        """Pass on what is buffered."""
        self.beneath.flush()

    def write(self, text: str) -> int:
        """Print a text: see :func:`~asterism.core.messages.escaping.printable`."""
        parts = _LAYOUT.split(text)
        parts[::2] = map(printable, parts[::2])
        if not self.isatty():
            parts[1::2] = (part if part in "\n\t" else "" for part in parts[1::2])
        self.beneath.write(_encodable("".join(parts), self.beneath))
        return len(text)


def escape_streams() -> None:
    """From now on what anything in this process prints through Python is escaped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, EscapedStream):
            setattr(sys, name, EscapedStream(stream))


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def raw_terminal() -> TextIO | None:
    """Standard error for callers that move the cursor and escape texts, or None: no terminal."""
    stream = sys.stderr.beneath if isinstance(sys.stderr, EscapedStream) else sys.stderr
    return stream if stream is not None and stream.isatty() else None
