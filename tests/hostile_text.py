"""Text that would run if it became source, and a watch over what the interpreter compiles."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: In every hostile text; nothing else that is compiled holds it.
MARK = "hostile_mark"

#: Texts for a file's strings: source as it is, out of quotes, out of a call, on a line of its own,
#: a keyword, and what no terminal should get.
TEXTS = (
    f'x"); __import__("{MARK}"); ("',
    f"x'); __import__('{MARK}'); ('",
    f"x\n    __import__('{MARK}')\n#",
    f"{MARK}(), __import__('{MARK}')",
    f'"""\\\n{MARK}\x1b[2J\u202e\u2066',
    f"lambda: {MARK}",
)

_EVENTS = ("compile", "exec", "import", "open", "os.system", "subprocess.Popen")
_seen: list[str] | None = None


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _seen is not None and event in _EVENTS:
        given = arguments[0]
        text = given.decode("latin-1") if isinstance(given, bytes) else given
        if isinstance(text, str) and MARK in text:
            _seen.append(f"{event}: {text[:200]}")


sys.addaudithook(_hook)


@contextmanager
def watched() -> Iterator[list[str]]:
    """What is compiled, executed, imported or opened in the block because of a hostile text."""
    global _seen
    _seen = seen = []
    try:
        yield seen
    finally:
        _seen = None
