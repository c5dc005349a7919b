"""The examples of ``docs/extending.md``, as the page has them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from imports import ROOT

PAGE = ROOT / "docs/extending.md"

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_FILE = re.compile(r"^File `([^`]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RUN = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RESULTS = re.compile(r"^Results: `([^`]+)` [a-z ]+ `([^`]+)`", re.MULTILINE)
_TESTS = re.compile(r"^Tests: (.+)$", re.MULTILINE)
_REGISTERED = re.compile(r'(\w+)\.register\("\.?(\w+)"\)|\b(declare|operator)\("(\w+)"')
#: Functions that register what they are called with, and the registries.
_REGISTERING = {"declare": "LAYERS", "operator": "OPERATORS"}


@dataclass(frozen=True)
class Example:
    """One kind of plug-in.

    Attributes:
        kind: the section's title.
        files: content of each file to write, by its path in the project; the plug-in comes first.
        commands: what runs it, as lists of words.
        results: a file that the run writes, and a word in it.
        tests: files of tests that pick it up.
    """

    kind: str
    files: dict[str, str]
    commands: list[list[str]]
    results: tuple[str, str]
    tests: list[str]

    @property
    def module(self) -> str:
        """The plug-in's path."""
        return next(iter(self.files))

    @property
    def registered(self) -> tuple[str, str]:
        """The variable of its registry, and its name there."""
        found = _REGISTERED.search(self.files[self.module])
        assert found is not None, f"{self.module} registers nothing"
        registry, name = (group for group in found.groups() if group)
        return _REGISTERING.get(registry, registry), name

    @property
    def overrides(self) -> list[str]:
        """What its commands set."""
        return [word for c in self.commands if c[:2] == ["asterism", "params"] for word in c[2:]]

    @property
    def target(self) -> str:
        """The stage that its commands run."""
        return next(c[2] for c in self.commands if c[:2] == ["asterism", "repro"])


def examples() -> list[Example]:
    """All of them, in the page's order."""
    titles, texts = _sections(PAGE.read_text(encoding="utf-8"))
    return [_example(*each) for each in zip(titles, texts, strict=True) if _FILE.search(each[1])]


def rows() -> list[list[str]]:
    """The cells of the table at the top of the page, without its head."""
    text = PAGE.read_text(encoding="utf-8").split("\n## ", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("| [")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _sections(text: str) -> tuple[list[str], list[str]]:
    _, *parts = _SECTION.split(text)
    return parts[::2], parts[1::2]


def _example(kind: str, text: str) -> Example:
    (run,), (results,), (tests,) = (p.findall(text) for p in (_RUN, _RESULTS, _TESTS))
    return Example(
        kind,
        dict(_FILE.findall(text)),
        [shlex.split(line) for line in run.splitlines()],
        results,
        re.findall(r"`(tests/[^`]+)`", tests),
    )
