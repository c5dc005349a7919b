"""Rules about two numbers of the same runs: which is larger, and how they go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import stats

from asterism.reproduction.rules import RULES, ClaimVerdict, Outcome, Rule, four_digits

#: Points, and different values of each number, that a correlation needs at least.
_FEWEST = 5

Level = Annotated[float, Field(gt=0, lt=1)]


@RULES.register("smaller")
@dataclass(frozen=True, kw_only=True)
class Smaller(Rule):
    """The first of two numbers is smaller, run by run.

    Attributes:
        alpha: level of the test.
    """

    takes_two: ClassVar[bool] = True

    alpha: Level

    def words(self) -> str:
        """See :class:`Rule`."""
        return (
            "reproduced where Wilcoxon's one-sided signed-rank test over the runs says that the "
            f"number is smaller than what it is compared with, with p of at most {self.alpha:g};"
            " not reproduced where the same test says the contrary, or where no run differs; and "
            "else not decided"
        )

    def judge(
        self, paper: float | None, sample: Sequence[float], other: Sequence[float]
    ) -> ClaimVerdict:
        """See :class:`Rule`."""
        first, second = np.array(sample), np.array(other)
        told = f"{four_digits(first.mean())} beside {four_digits(second.mean())}"
        if np.array_equal(first, second):
            return ClaimVerdict(Outcome.NOT_REPRODUCED, f"{told}: no run differs")
        less, greater = (
            float(stats.wilcoxon(first, second, alternative=side).pvalue)
            for side in ("less", "greater")
        )
        over = f"over {len(first)} runs"
        if greater <= self.alpha:
            return ClaimVerdict(
                Outcome.NOT_REPRODUCED, f"the contrary: {told}, p = {greater:.3g} {over}"
            )
        outcome = Outcome.REPRODUCED if less <= self.alpha else Outcome.NOT_DECIDED
        return ClaimVerdict(outcome, f"{told}, p = {less:.3g} {over}")


@dataclass(frozen=True, kw_only=True)
class Correlated(Rule):
    """Pearson's correlation of two numbers has a sign and a size.

    Attributes:
        bound: the claim holds from this size on.
        alpha: level of the test.
        averaged: whether runs of one value of the second number count as their mean.
    """

    takes_two: ClassVar[bool] = True
    #: 1 where both grow together, -1 where one falls.
    sign: ClassVar[int]

    bound: Annotated[float, Field(gt=0, le=1)]
    alpha: Level = 0.05
    averaged: bool = False

    def words(self) -> str:
        """See :class:`Rule`."""
        side = "at least" if self.sign > 0 else "at most"
        of = "means of the runs at each place" if self.averaged else "runs"
        return (
            f"reproduced where Pearson's correlation over the {of} is {side} "
            f"{four_digits(self.sign * self.bound)} with p of at most {self.alpha:g}; partly where "
            "it is smaller in size but p is as small; not reproduced where p says the contrary; "
            f"and else, or over fewer than {_FEWEST} points or different values, not decided"
        )

    def judge(
        self, paper: float | None, sample: Sequence[float], other: Sequence[float]
    ) -> ClaimVerdict:
        """See :class:`Rule`."""
        y, x = np.array(sample), np.array(other)
        if self.averaged:
            places = np.unique(x)
            x, y = places, np.array([y[x == place].mean() for place in places])
        for number, counted in (
            (len(x), "points"),
            (min(len(set(x)), len(set(y))), "different values"),
        ):
            if number < _FEWEST:
                told = f"too few {counted} for a correlation: {number}"
                return ClaimVerdict(Outcome.NOT_DECIDED, told)
        found = stats.pearsonr(y, x)
        r, p = float(found.statistic), float(found.pvalue)
        told = f"r = {r:.3f} over {len(x)} points, p = {p:.3g}"
        if p > self.alpha:
            return ClaimVerdict(Outcome.NOT_DECIDED, told)
        if self.sign * r < 0:
            return ClaimVerdict(Outcome.NOT_REPRODUCED, f"{told}: the contrary")
        return ClaimVerdict(
            Outcome.REPRODUCED if self.sign * r >= self.bound else Outcome.PARTLY, told
        )


@RULES.register("falls_with")
class FallsWith(Correlated):
    """One number falls as the other grows."""

    sign: ClassVar[int] = -1


@RULES.register("rises_with")
class RisesWith(Correlated):
    """One number grows as the other grows."""

    sign: ClassVar[int] = 1
