"""The running text of a page, sentence by sentence."""

import re
from collections.abc import Iterator

_HIDDEN = re.compile(r"```.*?```|<!--.*?-->", re.DOTALL)

#: Lines that are no running text: rows of tables, headings, and examples of output.
_NO_TEXT = ("|", "#", "    ")

#: Where a sentence ends and another one begins.
_BETWEEN = re.compile(r"(?<=[.!?:;])\**\s+(?=[A-Z0-9\[(*-])")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page's running text; code counts as one word, and links have no address.

    Args:
        text: of the page, in Markdown.
    """
    lines = _HIDDEN.sub("", text).splitlines()
    running = "\n".join(line for line in lines if not line.startswith(_NO_TEXT))
    for paragraph in re.split(r"\n\s*\n", re.sub(r"\n\s*[-*] ", "\n\n", plain(running))):
        yield from _BETWEEN.split(" ".join(paragraph.split()))


def rows(text: str) -> Iterator[str]:
    """The rows of a page's tables, each as one text."""
    for line in _HIDDEN.sub("", text).splitlines():
        if line.startswith("|"):
            yield plain(line)


def plain(text: str) -> str:
    """A text with a word in the place of each code, and without the addresses of links."""
    return re.sub(r"`[^`]*`", "CODE", re.sub(r"\]\([^)]*\)", "]", text))
