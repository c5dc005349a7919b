"""Rules about two numbers of the same runs: which is larger, and how they go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field
from scipy import stats

from asterism.core.parameters.params import ParameterSection
from asterism.reproduction.rules import (
    NOT_COMPARABLE,
    NOT_REPRODUCED,
    PARTLY,
    REPRODUCED,
    RULES,
    ClaimVerdict,
    Rule,
    number,
)


@RULES.register("smaller")
class Smaller(Rule):
    """The first of two numbers is smaller, run by run."""

    takes_two: ClassVar[bool] = True

    class Options(ParameterSection):
        """When a difference counts."""

        alpha: float = Field(gt=0, lt=1, description="level of the test")

    @staticmethod
    def words(options: Options) -> str:
        """See :class:`Rule`."""
        return (
            "reproduced where the mean is smaller than what it is compared with, and a test "
            "agrees; partly where the test does not. It is Wilcoxon's one-sided signed-rank test "
            f"over the runs, with p of at most {options.alpha:g}"
        )

    @staticmethod
    def judge(
        options: Options, paper: float | None, sample: Sequence[float], other: Sequence[float]
    ) -> ClaimVerdict:
        """See :class:`Rule`."""
        first, second = np.array(sample), np.array(other)
        told = f"{number(first.mean())} beside {number(second.mean())}"
        if first.mean() >= second.mean():
            return ClaimVerdict(NOT_REPRODUCED, f"{told}, which is not smaller")
        p = float(stats.wilcoxon(first, second, alternative="less").pvalue)
        word = REPRODUCED if p <= options.alpha else PARTLY
        return ClaimVerdict(word, f"{told}, p = {p:.3g} over {len(first)} runs")


class Correlated(Rule):
    """Pearson's correlation of two numbers has a sign and a size."""

    takes_two: ClassVar[bool] = True
    #: 1 where both grow together, -1 where one falls.
    sign: ClassVar[int]

    class Options(ParameterSection):
        """How closely two numbers go together, as the size of Pearson's correlation."""

        bound: float = Field(gt=0, le=1, description="the claim holds from this size on")
        partly: float = Field(gt=0, le=1, description="and in part from this one on")

    @classmethod
    def words(cls, options: Options) -> str:
        """See :class:`Rule`."""
        bound, partly = number(cls.sign * options.bound), number(cls.sign * options.partly)
        if cls.sign < 0:
            return (
                f"reproduced where Pearson's correlation is at most {bound}; partly up to {partly}"
            )
        return (
            f"reproduced where Pearson's correlation is at least {bound}; partly from {partly} on"
        )

    @classmethod
    def judge(
        cls,
        options: Options,
        paper: float | None,
        sample: Sequence[float],
        other: Sequence[float],
    ) -> ClaimVerdict:
        """See :class:`Rule`."""
        if len(set(sample)) < 2 or len(set(other)) < 2 or len(sample) < 3:
            return ClaimVerdict(NOT_COMPARABLE, "too few different values for a correlation")
        r = float(stats.pearsonr(sample, other).statistic)
        word = NOT_REPRODUCED
        if cls.sign * r >= options.partly:
            word = REPRODUCED if cls.sign * r >= options.bound else PARTLY
        return ClaimVerdict(word, f"r = {r:.3f} over {len(sample)} pairs of numbers")


@RULES.register("falls_with")
class FallsWith(Correlated):
    """One number falls as the other grows."""

    sign: ClassVar[int] = -1


@RULES.register("rises_with")
class RisesWith(Correlated):
    """One number grows as the other grows."""

    sign: ClassVar[int] = 1
