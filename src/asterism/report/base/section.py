"""What a lane contributes to the page: a section, its answers, key figures and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from markupsafe import Markup

from asterism.core.messages.escaping import pluralise
from asterism.core.settings.yaml_files import flatten_mapping, read_yaml
from asterism.core.statistics import exact_interval

#: Of both sides of an interval together.
CONFIDENCE = 0.95

#: How the page says which intervals it shows.
INTERVALS = "Intervals hold with 95% confidence (Clopper and Pearson)."


@dataclass(frozen=True)
class KeyFigure:
    """A number that the page shows large.

    Attributes:
        label: what it is.
        value: the number as text.
        certainty: its interval, its number of seeds or draws, or why it is exact.
        sources: where it was read, each a file and the keys in it.
    """

    label: str
    value: str
    certainty: str = ""
    sources: tuple[str, ...] = ()


class Level(StrEnum):
    """How urgent an answer is, from what asks for work to what does not."""

    ACT = "act"
    LOOK = "look"
    GOOD = "good"


@dataclass(frozen=True)
class Step:
    """Something to do next: a sentence, and a command where there is one."""

    text: str
    command: str = ""


@dataclass(frozen=True)
class FrontPageAnswer:
    """The answer to one of the front page's questions.

    Attributes:
        question: a short question.
        level: how urgent it is.
        sentence: the answer.
        figures: the numbers that it rests on.
        certainty: how sure it is.
        unusual: what a reader would not expect, a sentence each.
        steps: what to do next.
    """

    question: str
    level: Level
    sentence: str
    figures: tuple[KeyFigure, ...]
    certainty: str
    unusual: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class ReportSection:
    """One lane's part of the page.

    Attributes:
        anchor: name for links to it.
        title: heading.
        question: what the lane answers, one sentence.
        headline: the most important results, shown below the heading.
        body: everything below them.
        order: place on the page, lower ones first.
        contents: links to the parts of the body, each an anchor and a title.
        answers: what the lane says on the front page.
    """

    anchor: str
    title: str
    question: str
    headline: tuple[KeyFigure, ...]
    body: Markup
    order: int
    contents: tuple[tuple[str, str], ...] = ()
    answers: tuple[FrontPageAnswer, ...] = ()


def bound_share(count: int, total: int) -> tuple[float, float]:
    """Ends of the interval of a share; all of [0, 1] where counts contradict each other."""
    return exact_interval(count, total, CONFIDENCE) if 0 <= count <= total else (0.0, 1.0)


def format_share(count: int, total: int, noun: str) -> str:
    """``96.0% to 99.2%, 360 images``."""
    low, high = bound_share(count, total)
    return f"{percent(low)} to {percent(high)}, {pluralise(total, noun)}"


def listed(names: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def quote_names(names: list[str]) -> str:
    """Names that the user chose: ``“a” and “b”``."""
    return listed([f"“{name}”" for name in names])


def format_points(difference: float) -> str:
    """A difference of shares in points with its sign: ``+0.3`` or ``-1.2``."""
    return f"{100 * difference:+.1f}"


def percent(value: float | None) -> str:
    """0.8857 as ``88.6%``; a dash for what was not measured."""
    return "–" if value is None else f"{100 * value:.1f}%"


def parameters_of(workspace: Path, groups: Sequence[str]) -> list[tuple[str, str]]:
    """Full name and value of each parameter of these groups of ``params.yaml``, in its order.

    Args:
        workspace: project folder.
        groups: top-level keys; those that the file lacks are left out, as all are without a file.

    Raises:
        UserError: the file cannot be read as YAML.
    """
    path = workspace / "params.yaml"
    document = read_yaml(path) if path.exists() else {}
    known = document if isinstance(document, dict) else {}
    return [
        row for name in groups if name in known for row in flatten_parameters(known[name], name)
    ]


def flatten_parameters(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Full name and value of each parameter below a name; ``a.b`` and ``1`` of ``{b: 1}``."""
    return ((full, _spoken(leaf)) for full, leaf in flatten_mapping(value, name))


def _spoken(value: Any) -> str:
    """As YAML writes it on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(_spoken, value))}]"
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value)
