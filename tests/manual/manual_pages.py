"""What the manual says: its pages and lists of contents, commands, and names of metrics."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from places import ROOT

DOCS = ROOT / "docs"

CONTENTS = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Every page's file."""
    return sorted(DOCS.rglob("*.md"))


def named_by(page: Path) -> list[Path]:
    """The pages that a page's lists of contents name, in their order."""
    lists = CONTENTS.findall(page.read_text(encoding="utf-8"))
    entries = [line for text in lists for line in text.splitlines() if line and line[0] != ":"]
    return [(page.parent / f"{entry}.md").resolve() for entry in entries]


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


METRICS = ROOT / "docs/reference/metrics.md"

#: Below these are names of symptoms, of libraries, and of directions: right to wrong and others.
_OPEN = {"by_symptom", "by_library", "directions"}


def explained() -> set[str]:
    """Names in the first column of the page's tables."""
    rows = re.findall(r"^\| (`.+?) \|", METRICS.read_text(encoding="utf-8"), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def unexplained(project: Path) -> set[str]:
    """Names in a project's metrics that the page does not explain."""
    files = (project / "metrics").glob("*.json")
    found = {name for file in files for name in _names(json.loads(file.read_text("utf-8")))}
    return found - explained()


def _names(values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if name in _OPEN:
            yield name
        elif isinstance(value, dict):
            yield from _names(value)
        else:
            yield re.sub(r"^idc_\d+$", "idc_N", name)
