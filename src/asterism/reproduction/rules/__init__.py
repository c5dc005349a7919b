"""Rules by which claims get their verdicts, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from asterism.core.parameters.registry import Registry


class Outcome(StrEnum):
    """What a verdict on a claim can be."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT_REPRODUCED = "not reproduced"
    #: The runs are too few, or scatter too much, for any of the words above.
    NOT_DECIDED = "not decided"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class ClaimVerdict:
    """What is said of a claim.

    Attributes:
        outcome: whether the runs reproduce it.
        reason: why, in a sentence.
    """

    outcome: Outcome
    reason: str


class Rule(ABC):
    """Says whether runs reproduce a claim; its options are the fields of a dataclass."""

    #: Whether it compares two samples, run by run.
    takes_two: ClassVar[bool] = False

    @abstractmethod
    def words(self) -> str:
        """The rule in words, as the page states it."""

    @abstractmethod
    def judge(
        self, paper: float | None, sample: Sequence[float], other: Sequence[float]
    ) -> ClaimVerdict:
        """The verdict.

        Args:
            paper: the paper's value; None where the claim has none.
            sample: a number for each run, at least one.
            other: what is compared with it, of the same runs; empty for rules that take one.
        """


RULES: Registry[type[Rule]] = Registry("rule", "asterism.reproduction.rules")


def four_digits(value: float) -> str:
    """A number with four digits, as pages show it."""
    return f"{value:,.4g}" if abs(value) < 10000 else f"{value:,.0f}"
