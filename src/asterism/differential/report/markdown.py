"""Escaping texts of findings for Markdown, so that no Markdown or HTML in them takes effect."""

from __future__ import annotations

import re

from asterism.core.messages.escaping import printable, printable_lines

#: Texts without a meaning in Markdown, and links from a file of the user's.
_PLAIN = re.compile(r"[\w .,:;=()/%+'…–-]*")
_LINK = re.compile(r"https?://[\w.~/?=&%+:#-]+")


def shown(text: str) -> str:
    """A text within a line: as code unless its characters are harmless; white space is joined."""
    words = _words(text)
    return words if _PLAIN.fullmatch(words) or _LINK.fullmatch(words) else code(words)


def code(text: str) -> str:
    """A text as code within a line; backticks in it do not end it, and white space is joined."""
    words = _words(text)
    if not words:
        return ""
    fence = "`" * (_longest_run(words) + 1)
    gap = " " if "`" in (words[0], words[-1]) else ""
    return f"{fence}{gap}{words}{gap}{fence}"


def cell(text: str) -> str:
    """A text in a table's cell; bars in it do not divide the cell."""
    return shown(text).replace("|", "\\|")


def block(text: str, language: str) -> str:
    """Lines of code in a block; backticks in them do not end it."""
    fence = "`" * max(3, _longest_run(text) + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{printable_lines(text)}{end}{fence}"


def _words(text: str) -> str:
    return printable(" ".join(text.split()))


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
