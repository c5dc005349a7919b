"""What libraries say: whether it means "unsupported", and without what differs from run to run.

Workers use it in environments that have only NumPy and one library, so it imports nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


def is_unsupported(exception: str, message: str, patterns: Iterable[str]) -> bool:
    """Whether an exception says that something is not supported."""
    text = f"{exception}: {message}"
    return any(re.search(pattern, text) for pattern in patterns)


_NOISE = (
    (r"\x1b\[[0-9;]*m", ""),
    # Of constants that are alike a converter keeps any, and with it its name.
    (r'"functional[^"\s]*"', '"NAME"'),
    (r"0x[0-9a-fA-F]+", "ADDRESS"),
    (r"/[\w./\-]+/([\w.\-]+)", r"\1"),
    (r"_+\d+", "_N"),
    (r"\d{4,}", "NUMBER"),
)


def steady(message: str, limit: int = 600, *, end: bool = False) -> str:
    """A message without what differs from run to run: addresses, folders, counters, colours.

    Args:
        message: what was said.
        limit: characters that are kept; an ellipsis stands for the others, with whole words.
        end: keep the last ones, as of a log, in place of the first.
    """
    message = message.encode("utf-8", "replace").decode()  # half a character is in no JSON file
    for pattern, replacement in _NOISE:
        message = re.sub(pattern, replacement, message)
    words = " ".join(message.split())
    if len(words) <= limit:
        return words
    if end:
        return f"… {words[-limit:].partition(' ')[2]}"
    return f"{words[:limit].rpartition(' ')[0]} …"
