"""Text that would run if it became source, and a watch over what the interpreter compiles."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: In every hostile text; nothing else that is compiled holds it.
MARK = "stranger_was_here"

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

#: What no reader of a file does, and what it does not do because of a hostile text.
_NEVER = ("os.system", "os.exec", "os.posix_spawn", "pickle.find_class")
_NOT_OF_TEXT = ("compile", "exec", "import", "open", "subprocess.Popen")
_seen: list[str] | None = None


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _seen is not None and event in (*_NEVER, *_NOT_OF_TEXT):
        given = arguments[0]
        text = given.decode("latin-1") if isinstance(given, bytes) else str(given)
        if event in _NEVER or MARK in text:
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
