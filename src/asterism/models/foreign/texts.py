"""Checks of texts in files from others: names, descriptions, values of settings."""

from __future__ import annotations

from asterism.core.messages.escaping import printable

#: Characters of a text. LiteRT's converter names a tensor by all layers that it merged.
_LONGEST = 10_000


def require_plain_text(text: str | bytes) -> None:
    """Reject a text that a page or a terminal could obey, or that is too long for either.

    Args:
        text: bytes are UTF-8.

    Raises:
        ValueError: it holds more than letters, numbers, signs and spaces.
    """
    if len(text) <= _LONGEST:
        plain = text if isinstance(text, str) else text.decode("utf-8")
        if printable(plain) == plain:
            return
    raise ValueError(f"it holds a text that is no plain one of a line: {text[:60]!a}")
