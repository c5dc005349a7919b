"""What libraries say: whether it means "unsupported", and without what differs from run to run.

Workers use it in environments that have only NumPy and one library, so it imports nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def is_unsupported(exception: str, message: str, patterns: Iterable[str]) -> bool:
    """Whether an exception says that something is not supported."""
    text = f"{exception}: {message}"
    return any(re.search(pattern, text) for pattern in patterns)


#: Exceptions that no library raises on purpose, and words that say so.
_INTERNAL = re.compile(
    r"(Assertion|Attribute|Key|Index|ZeroDivision|UnboundLocal|Recursion|System|Internal\w*)Error$"
    r"|InductorError$|LoweringException$|BackendCompilerFailed$|InternalTorchDynamoError$"
)
_SAID = re.compile(
    r"INTERNAL ASSERT|\bINTERNAL: |[Ii]nternal (compiler )?error|[Pp]lease (report|file)"
    r"|should not happen|this is a bug"
)


def is_internal(exception: str, message: str) -> bool:
    """Whether an exception says that a library failed at something that it did not check."""
    return bool(_INTERNAL.search(exception) or _SAID.search(message))


_NOISE = (
    (r"\x1b\[[0-9;]*m", ""),
    # When a line of a log was written, and by which thread.
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: ", ""),
    (r"\b([FEWI])\d{4} \d\d:\d\d:[\d.]+\s+\d+ ", r"\1 "),
    # Of constants that are alike a converter keeps any, and with it its name.
    (r'"functional[^"\s]*"', '"NAME"'),
    (r"0x[0-9a-fA-F]+", "ADDRESS"),
    (r"/[\w./\-]+/([\w.\-]+)", r"\1"),
    (r"_+\d+", "_N"),
    (r"\d{4,}", "NUMBER"),
)


#: How a line begins, or what it holds, by which a process says why it ends itself.
_LAST = re.compile(
    r"(^|: )F\d* |^F\d{4} |Check failed|terminate called|what\(\):|[Aa]ssertion .*failed|LLVM ERROR"
    r"|Fatal (Python )?error|double free|corrupt|free\(\)|malloc\(\)|munmap_chunk"
    r"|stack smashing|UNREACHABLE|panicked at"
)
#: A line of a log that only informs or warns.
_WARNING = re.compile(r"(^|: )[WI]\d* |^[WI]\d{4} |^(WARNING|INFO|DEBUG)\b|\w*Warning: ")
#: Lines of an abort, and characters of a message, that are kept.
_LINES, _CHARACTERS = 8, 600


def find_abort_message(lines: Sequence[str]) -> list[str]:
    """Why a process says that it ends itself: the abort's own lines, else the latest, no warnings.

    Args:
        lines: the lines that it printed last.
    """
    at = [number for number, line in enumerate(lines) if _LAST.search(line)]
    if at:
        first = next((n for n in at if n > at[-1] - _LINES), at[-1])
        return [line for line in lines[first : first + _LINES] if not _WARNING.search(line)]
    return [line for line in lines if not _WARNING.search(line)][-_LINES:]


def strip_volatile_parts(message: str, *, end: bool = False) -> str:
    """A message without what differs from run to run: addresses, folders, counters, colours.

    Of a long one whole words are kept, and an ellipsis stands for the others.

    Args:
        message: what was said.
        end: keep the last words, as of a log, in place of the first.
    """
    message = message.encode("utf-8", "replace").decode()  # half a character is in no JSON file
    for pattern, replacement in _NOISE:
        message = re.sub(pattern, replacement, message)
    words = " ".join(message.split())
    if len(words) <= _CHARACTERS:
        return words
    if end:
        return f"… {words[-_CHARACTERS:].partition(' ')[2]}"
    return f"{words[:_CHARACTERS].rpartition(' ')[0]} …"
