"""Pages have short sentences and lines, and only those of measurements state speeds."""

import re

import pytest
from manual_pages import DOCS, named_by, pages
from running_text import rows, sentences

from places import ROOT

FRONT = [*ROOT.glob("*.md"), *ROOT.glob("findings/*.md")]
PAGES = sorted([*FRONT, *pages()])
IDS = [str(page.relative_to(ROOT)) for page in PAGES]

#: Pages outside of the part of measurements that may state times and speeds, and why.
WITH_SPEEDS = {
    "docs/decisions": "a decision gives the numbers that it was made by, and keeps them",
}

_NUMBER = r"\d[\d.,]*"
_TIME = rf"{_NUMBER} ?(?:to {_NUMBER} ?)?(?:ms|µs|s|min|h|seconds?|minutes?|hours?)\b"
_TAKES = r"\b(?:takes?|took|taken|costs?|lasts?|needs?|saves?|measured|instead of|longer)\b"
_SPEED = re.compile(
    rf"{_TAKES}.*{_TIME}|{_TIME}.*{_TAKES}|\bin {_TIME}"
    rf"|{_NUMBER} times (?:as fast|as slow|faster|slower|less time|more time|its time|.*\bspeed\b)"
    rf"|{_NUMBER} (?:\w+ )?(?:a|per) (?:second|minute|hour)\b|{_NUMBER} ?\w*/s\b"
    r"|\b(?:takes?|took|costs?) (?:milliseconds|seconds|a second)\b"
)


def speeds(text):
    """What states how long something takes, or how fast it is; limits and settings do not."""
    return [one for one in (*sentences(text), *rows(text)) if _SPEED.search(one)]


def of_measurements():
    return {DOCS / "measurements/index.md", *named_by(DOCS / "measurements/index.md")}


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_only_measurements_state_speeds(page):
    name = str(page.relative_to(ROOT))
    if page in of_measurements() or any(name.startswith(known) for known in WITH_SPEEDS):
        return
    assert not speeds(page.read_text(encoding="utf-8"))


def test_every_exception_is_needed():
    for known in WITH_SPEEDS:
        found = [page for page, name in zip(PAGES, IDS, strict=True) if name.startswith(known)]
        assert any(speeds(page.read_text(encoding="utf-8")) for page in found), known


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_lines_are_short(page):
    if page.parent.name == "findings":
        return  # written by a command, for a reader of the site that holds the source
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    long = [line for line in text.splitlines() if len(line) > 120]
    assert not [line for line in long if not line.startswith(("|", "!["))]


@pytest.mark.parametrize(
    "text",
    [
        "The search takes 12 s.",
        "It took\n1.5 to 2 hours.",
        "45 readers got 20,024 files in 22 minutes.",
        "| `fuzz` | it takes 3 ms |",
        "It is 3.1 times faster.",
        "That is 26 to 28 times the released tool's speed.",
        "It makes 1,134 models a second.",
        "A file costs seconds.",
    ],
)
def test_a_speed_is_found(text):
    assert speeds(text)


@pytest.mark.parametrize(
    "text", ["A call may take `600` s.", "Sounds of 16,000 Hz and 2 s each.", "It takes time."]
)
def test_what_is_no_speed_is_let_through(text):
    assert not speeds(text)
