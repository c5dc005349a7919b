"""Texts for messages and pages: escaped, counts in words, and the first of many."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence


def printable(text: str) -> str:
    """A text on one line, with all that is not seen as an escape, as Python writes it.

    Letters, marks, digits, punctuation, symbols and blanks of all scripts stay. A terminal obeys
    controls; other characters turn a text around or make two look alike. Among these are the ones
    that join emoji and some letters of Persian and Hindi: they are escaped too.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if _is_seen(letter) else letter.encode("unicode_escape").decode() for letter in text
    )


def printable_lines(text: str) -> str:
    """The same of a text of several lines, in which tabs stay too."""
    parts = re.split("([\n\t])", text)
    parts[::2] = map(printable, parts[::2])
    return "".join(parts)


def _is_seen(letter: str) -> bool:
    category = unicodedata.category(letter)
    return category[0] in "LMNPS" or category == "Zs"


def pluralise(count: int, noun: str, plural: str = "") -> str:
    """``1 query`` and ``2 queries``; the plural is the noun with an s where none is given."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def list_first(names: Sequence[str], most: int = 3) -> str:
    """``a, b, c and 2 more``: the first names, and how many are left out where there are more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
