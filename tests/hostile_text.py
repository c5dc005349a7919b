"""Text that would run if it became source, and a watch over what the interpreter compiles."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

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
#: File for what child processes do, a line each.
_NOTES = "HOSTILE_TEXT_NOTES"
_STARTED = "started"


class _Notes(list[str]):
    """What is seen in a child process, appended to a file of the test's."""

    def append(self, line: str) -> None:
        file = os.open(os.environ[_NOTES], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, f"{line!a}\n".encode())
        os.close(file)


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _seen is not None and event in (*_NEVER, *_NOT_OF_TEXT):
        given = arguments[0]
        text = given.decode("latin-1") if isinstance(given, bytes) else str(given)
        if event in _NEVER or MARK in text:
            _seen.append(f"{event}: {text[:200]}")


@cache
def _watch() -> None:
    """Hook in, for good: whatever the process does from now on takes longer."""
    sys.addaudithook(_hook)


@contextmanager
def watched() -> Iterator[list[str]]:
    """What is compiled, executed, imported or opened in the block because of a hostile text."""
    global _seen
    _watch()
    _seen = seen = []
    try:
        yield seen
    finally:
        _seen = None


def environment_of_children(folder: Path) -> dict[str, str]:
    """Variables under which all Python processes are watched, by this file as ``sitecustomize``."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_bytes(Path(__file__).read_bytes())
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {_NOTES: str(folder / "notes"), "PYTHONPATH": os.pathsep.join(paths)}


def noted_by_children(folder: Path) -> tuple[int, list[str]]:
    """How many processes were watched, and what they did because of a hostile text."""
    notes = folder / "notes"
    lines = notes.read_text().splitlines() if notes.exists() else []
    seen = [line for line in lines if line != repr(_STARTED)]
    return len(lines) - len(seen), seen


if __name__ == "sitecustomize":
    _seen = _Notes()
    _seen.append(_STARTED)
    _watch()
