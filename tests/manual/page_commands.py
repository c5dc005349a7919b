"""The commands that pages show."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from manual.manual_pages import pages
from places import ROOT

#: Programs whose calls are commands of this project. Those of git and pip are not.
PROGRAMS = ("asterism", "dvc", "make", "python", "storm")

_BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(rf"(?<!`)`((?:{'|'.join(PROGRAMS)})\s[^`]+)`(?!`)")
_COMMENT = re.compile(r"\s+#.*")
_NEXT = re.compile(r"\s(?:&&|\|\||;)\s|\s&$")

#: Words that stand for something of the reader's, and what stands there in tests.
STAND_INS = {
    "FOLDER": "../folder",
    "REV": "HEAD",
    "STAGE": "build_dtmc",
    "NAME": "library_versions",
    "OVERRIDES": "seed=1",
    "${item.criterion}": "state",
    "${key}": "pruned",
    "N": "2",
    "M": "2",
}


@dataclass(frozen=True)
class Command:
    """A command of a page.

    Attributes:
        page: where it stands first.
        text: as the page has it, on one line.
    """

    page: str
    text: str

    @property
    def words(self) -> list[str]:
        """Its words, with what tests have in the place of a reader's own."""
        return [STAND_INS.get(word, word) for word in shlex.split(self.text)]


def commands() -> list[Command]:
    """Every command of every page and of those at the front, each once.

    Tutorials and ``docs/extending.md`` have blocks that their own tests follow as a whole.
    """
    found: dict[str, Command] = {}
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages()]:
        text = page.read_text(encoding="utf-8")
        if page.parent.name == "tutorials" or page.stem == "extending":
            text = _BLOCK.sub("", text)
        for line in lines(text):
            found.setdefault(line, Command(str(page.relative_to(ROOT)), line))
    return list(found.values())


def lines(text: str) -> list[str]:
    """The commands of a page: of blocks, and of running text where they are whole.

    A name of DVC's commands in running text, as `dvc repro`, is no command to run.
    """
    blocks = [body for kind, body in _BLOCK.findall(text) if kind in {"", "sh", "yaml"}]
    shown = "".join(blocks).replace("\\\n", " ").splitlines()
    shown = [_COMMENT.sub("", line.strip().removeprefix("- run: ")) for line in shown]
    running = [" ".join(found.split()) for found in _INLINE.findall(_BLOCK.sub("", text))]
    whole = [one for one in running if not re.fullmatch(r"dvc( exp)? \S+( -S| --queue)?|.*…", one)]
    parts = [part.strip() for one in shown + whole for part in _NEXT.split(one)]
    return [" ".join(part.split()) for part in parts if part.partition(" ")[0] in PROGRAMS]
