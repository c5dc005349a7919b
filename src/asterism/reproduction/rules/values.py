"""Rules about one number: near the paper's, beyond a bound, or within a range."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.reproduction.quantities import Estimate, estimate
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


def _told(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return f"{number(found.mean)} in one run"
    between = f"{number(found.low)} to {number(found.high)}"
    return f"{number(found.mean)} ({between}; {found.runs} runs)"


@RULES.register("close")
class Close(Rule):
    """The mean is near the paper's value."""

    class Options(ParameterSection):
        """How near."""

        within: float = Field(gt=0, description="relative difference that counts as the same")
        partly: float = Field(gt=0, description="relative difference that counts as partly")

    @staticmethod
    def words(options: Options) -> str:
        """See :class:`Rule`."""
        within, partly = (f"{100 * share:g}%" for share in (options.within, options.partly))
        return (
            f"reproduced where the mean is at most {within} from the paper's value; partly up to "
            f"{partly}. It is reproduced there too where the 95% interval contains the paper's "
            f"value and reaches at most {partly} of that to either side"
        )

    @staticmethod
    def judge(
        options: Options, paper: float | None, sample: Sequence[float], other: Sequence[float]
    ) -> ClaimVerdict:
        """See :class:`Rule`."""
        if paper is None:
            return ClaimVerdict(NOT_COMPARABLE, "the paper gives no value")
        found = estimate(sample)
        apart = abs(found.mean - paper) / abs(paper) if paper else abs(found.mean)
        low, high = found.ends
        inside = found.contains(paper) and (high - low) / 2 <= options.partly * abs(paper)
        word = NOT_REPRODUCED
        if apart <= options.partly:
            word = REPRODUCED if apart <= options.within or inside else PARTLY
        told = ", and the interval contains it" if inside else ""
        return ClaimVerdict(
            word, f"{_told(found)} is {number(100 * apart)}% from {number(paper)}{told}"
        )


@RULES.register("at_least")
class AtLeast(Rule):
    """The interval of the mean reaches a bound."""

    class Options(ParameterSection):
        """The bounds."""

        bound: float = Field(description="the claim holds from here on")
        partly: float = Field(description="and in part from here on")

    @staticmethod
    def words(options: Options) -> str:
        """See :class:`Rule`."""
        return (
            f"reproduced where the whole 95% interval is at least {number(options.bound)}; partly "
            f"where the mean is at least {number(options.partly)}"
        )

    @staticmethod
    def judge(
        options: Options, paper: float | None, sample: Sequence[float], other: Sequence[float]
    ) -> ClaimVerdict:
        """See :class:`Rule`."""
        found = estimate(sample)
        word = NOT_REPRODUCED
        if found.mean >= options.partly:
            word = REPRODUCED if found.ends[0] >= options.bound else PARTLY
        return ClaimVerdict(word, f"the mean is {_told(found)}")


@RULES.register("at_most")
class AtMost(Rule):
    """The interval of the mean stays below a bound."""

    class Options(ParameterSection):
        """The bounds."""

        bound: float = Field(description="the claim holds up to here")
        partly: float = Field(description="and in part up to here")

    @staticmethod
    def words(options: Options) -> str:
        """See :class:`Rule`."""
        return (
            f"reproduced where the whole 95% interval is at most {number(options.bound)}; partly "
            f"where the mean is at most {number(options.partly)}"
        )

    @staticmethod
    def judge(
        options: Options, paper: float | None, sample: Sequence[float], other: Sequence[float]
    ) -> ClaimVerdict:
        """See :class:`Rule`."""
        found = estimate(sample)
        word = NOT_REPRODUCED
        if found.mean <= options.partly:
            word = REPRODUCED if found.ends[1] <= options.bound else PARTLY
        return ClaimVerdict(word, f"the mean is {_told(found)}")


@RULES.register("between")
class Between(Rule):
    """The interval of the mean lies in a range that the paper gives."""

    class Options(ParameterSection):
        """The range."""

        low: float = Field(description="its lower end")
        high: float = Field(description="its upper end")

    @staticmethod
    def words(options: Options) -> str:
        """See :class:`Rule`."""
        return (
            f"reproduced where the whole 95% interval lies between {number(options.low)} and "
            f"{number(options.high)}; partly where a part of it does"
        )

    @staticmethod
    def judge(
        options: Options, paper: float | None, sample: Sequence[float], other: Sequence[float]
    ) -> ClaimVerdict:
        """See :class:`Rule`."""
        found = estimate(sample)
        low, high = found.ends
        word = NOT_REPRODUCED
        if low <= options.high and high >= options.low:
            word = REPRODUCED if options.low <= low and high <= options.high else PARTLY
        return ClaimVerdict(word, f"the mean is {_told(found)}")
