"""Rules about one number: near the paper's, beyond a bound, or within a range."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.reproduction.quantities import Estimate, estimate
from asterism.reproduction.rules import (
    NOT_COMPARABLE,
    NOT_DECIDED,
    NOT_REPRODUCED,
    PARTLY,
    REPRODUCED,
    RULES,
    ClaimVerdict,
    Rule,
    number,
)

_ONE_RUN = "one run tells no interval"


def _told(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return f"{number(found.mean)} in one run"
    between = f"{number(found.low)} to {number(found.high)}"
    return f"{number(found.mean)} ({between}; {found.runs} runs)"


class OneNumber(ParameterSection):
    """What every rule about one number takes."""

    exact: bool = Field(
        default=False, description="whether nothing in the number is drawn: one run then decides"
    )


@RULES.register("close")
class NearValue(Rule):
    """The mean is near the paper's value."""

    class Options(OneNumber):
        """How near."""

        within: float = Field(gt=0, description="relative difference that counts as the same")
        partly: float = Field(gt=0, description="relative difference that counts as partly")
        no_effect: float | None = Field(
            default=None,
            description="the value that means no effect, where the statement is an effect",
        )

    @staticmethod
    def words(options: Options) -> str:
        """See :class:`Rule`."""
        within, partly = (f"{100 * share:g}%" for share in (options.within, options.partly))
        told = (
            f"reproduced where the mean is at most {within} from the paper's value; partly up to "
            f"{partly}"
        )
        if options.no_effect is not None:
            none = f"{options.no_effect:g}, no effect"
            told += f"; where the 95% interval holds {none}, not decided if it holds the paper's "
            told += "value too, and not reproduced if it does not"
        if options.exact:
            return f"{told}. Nothing in the number is drawn, so that one run decides"
        return (
            f"{told}; not reproduced where the whole 95% interval lies further away; and else not "
            "decided. Not decided either where there is one run, or where half of the interval is "
            f"more than {partly} of the paper's value"
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
        told = f"{_told(found)} is {number(100 * apart)}% from {number(paper)}"
        low, high = found.ends
        if found.low is None and not options.exact:
            return ClaimVerdict(NOT_DECIDED, f"{told}; {_ONE_RUN}")
        reach = options.partly * abs(paper)
        if low > paper + reach or high < paper - reach:
            return ClaimVerdict(NOT_REPRODUCED, told)
        if (high - low) / 2 > reach or apart > options.partly:
            return ClaimVerdict(NOT_DECIDED, f"{told}; the interval is too wide")
        if options.no_effect is not None and low <= options.no_effect <= high:
            word = NOT_DECIDED if low <= paper <= high else NOT_REPRODUCED
            held = f"the interval holds {options.no_effect:g}, no effect"
            return ClaimVerdict(word, f"{told}; {held}")
        return ClaimVerdict(REPRODUCED if apart <= options.within else PARTLY, told)


@RULES.register("at_least")
class AtLeast(Rule):
    """The whole interval of the mean reaches a bound that the statement itself names."""

    class Options(OneNumber):
        """The bounds."""

        bound: float = Field(description="the claim holds from here on")
        partly: float = Field(description="and in part from here on")

    @staticmethod
    def words(options: Options) -> str:
        """See :class:`Rule`."""
        return (
            f"reproduced where the whole 95% interval is at least {number(options.bound)}; partly "
            f"where all of it is at least {number(options.partly)}; not reproduced where none of "
            "it is, and else not decided"
        )

    @staticmethod
    def judge(
        options: Options, paper: float | None, sample: Sequence[float], other: Sequence[float]
    ) -> ClaimVerdict:
        """See :class:`Rule`."""
        found = estimate(sample)
        told = f"the mean is {_told(found)}"
        if found.low is None and not options.exact:
            return ClaimVerdict(NOT_DECIDED, f"{told}; {_ONE_RUN}")
        low, high = found.ends
        if low >= options.partly:
            return ClaimVerdict(REPRODUCED if low >= options.bound else PARTLY, told)
        return ClaimVerdict(NOT_DECIDED if high >= options.partly else NOT_REPRODUCED, told)


@RULES.register("between")
class WithinRange(Rule):
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
            f"{number(options.high)}; not reproduced where none of it does, and else not decided"
        )

    @staticmethod
    def judge(
        options: Options, paper: float | None, sample: Sequence[float], other: Sequence[float]
    ) -> ClaimVerdict:
        """See :class:`Rule`."""
        found = estimate(sample)
        low, high = found.ends
        told = f"the mean is {_told(found)}"
        if low > options.high or high < options.low:
            return ClaimVerdict(NOT_REPRODUCED, told)
        inside = found.low is not None and options.low <= low and high <= options.high
        return ClaimVerdict(REPRODUCED if inside else NOT_DECIDED, told)
