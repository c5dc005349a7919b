"""Counts in words, for messages and pages."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 query`` and ``2 queries``; the plural is the noun with an s where none is given."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
