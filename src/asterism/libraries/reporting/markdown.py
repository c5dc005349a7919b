"""Texts of findings in Markdown: shown as they are, whatever Markdown or HTML they hold."""

from __future__ import annotations

import re

#: Texts that mean nothing else in Markdown, and links of a user's own file.
_PLAIN = re.compile(r"[\w .,:;=()/%+'…–-]*")
_LINK = re.compile(r"https?://[\w.~/?=&%+:#-]+")


def shown(text: str) -> str:
    """A text within a line: as it is where its characters are harmless, otherwise as code."""
    return text if _PLAIN.fullmatch(text) or _LINK.fullmatch(text) else code(text)


def code(text: str) -> str:
    """A text as code within a line, which no backtick in it ends; each space stands for any."""
    words = " ".join(text.split())
    if not words:
        return ""
    fence = "`" * (_longest_run(words) + 1)
    gap = " " if "`" in (words[0], words[-1]) else ""
    return f"{fence}{gap}{words}{gap}{fence}"


def cell(text: str) -> str:
    """A text in a table, which no bar in it divides."""
    return shown(text).replace("|", "\\|")


def block(text: str, language: str) -> str:
    """Lines of code in a block, which nothing in them ends."""
    fence = "`" * max(3, _longest_run(text) + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{end}{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
