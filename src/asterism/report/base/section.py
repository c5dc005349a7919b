"""What a lane contributes to the page, and the answers and key figures that it gives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from markupsafe import Markup


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
