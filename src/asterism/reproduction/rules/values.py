"""Rules about one number: near the paper's, or beyond a bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from asterism.reproduction.records import Estimate, estimate
from asterism.reproduction.rules import RULES, ClaimVerdict, Outcome, Rule, four_digits

_ONE_RUN = "one run tells no interval"

Share = Annotated[float, Field(gt=0)]


def _in_words(found: Estimate) -> str:
    if found.runs == 1:
        return f"{four_digits(found.mean)} in one run"
    between = f"{four_digits(found.low)} to {four_digits(found.high)}"
    return f"{four_digits(found.mean)} ({between}; {found.runs} runs)"


@RULES.register("close")
@dataclass(frozen=True, kw_only=True)
class NearValue(Rule):
    """The mean is near the paper's value.

    Attributes:
        within: relative difference that counts as the same.
        partly: relative difference that counts as partly.
        no_effect: the value that means no effect, where the statement is an effect.
        exact: whether nothing in the number is drawn: one run then decides.
    """

    within: Share
    partly: Share
    no_effect: float | None = None
    exact: bool = False

    def words(self) -> str:
        """See :class:`Rule`."""
        within, partly = (f"{100 * share:g}%" for share in (self.within, self.partly))
        told = (
            f"reproduced where the mean is at most {within} from the published value; partly up to "
            f"{partly}"
        )
        if self.no_effect is not None:
            told += (
                f"; where the 95% interval holds {self.no_effect:g}, no effect, not decided if it "
                "holds the published value too, and not reproduced if it does not; not reproduced "
                f"either where all of it is beyond {self.no_effect:g}, away from that value"
            )
        if self.exact:
            return f"{told}. Nothing in the number is drawn, so that one run decides"
        return (
            f"{told}; not reproduced where the whole 95% interval lies further away; and else not "
            "decided. Not decided either where there is one run, or where half of the interval is "
            f"more than {partly} of the published value"
        )

    def judge(
        self, paper: float | None, sample: Sequence[float], other: Sequence[float]
    ) -> ClaimVerdict:
        """See :class:`Rule`."""
        if paper is None:
            return ClaimVerdict(Outcome.NOT_COMPARABLE, "the paper gives no value")
        found = estimate(sample)
        apart = abs(found.mean - paper) / abs(paper) if paper else abs(found.mean)
        told = f"{_in_words(found)} is {four_digits(100 * apart)}% from {four_digits(paper)}"
        low, high = found.low, found.high
        if found.runs == 1 and not self.exact:
            return ClaimVerdict(Outcome.NOT_DECIDED, f"{told}; {_ONE_RUN}")
        reach = self.partly * abs(paper)
        if low > paper + reach or high < paper - reach:
            return ClaimVerdict(Outcome.NOT_REPRODUCED, told)
        if self._contrary(paper, low, high):
            return ClaimVerdict(Outcome.NOT_REPRODUCED, f"{told}: the contrary")
        if (high - low) / 2 > reach:
            return ClaimVerdict(Outcome.NOT_DECIDED, f"{told}; the runs vary too much to decide")
        if self.no_effect is not None and low <= self.no_effect <= high:
            outcome = Outcome.NOT_DECIDED if low <= paper <= high else Outcome.NOT_REPRODUCED
            held = f"the interval holds {self.no_effect:g}, no effect"
            return ClaimVerdict(outcome, f"{told}; {held}")
        if apart > self.partly:
            near = f"{100 * self.partly:g}% of the published value"
            return ClaimVerdict(Outcome.NOT_DECIDED, f"{told}; the interval reaches within {near}")
        return ClaimVerdict(Outcome.REPRODUCED if apart <= self.within else Outcome.PARTLY, told)

    def _contrary(self, paper: float, low: float, high: float) -> bool:
        """Whether the interval shows the effect that the paper states the other way round."""
        if self.no_effect is None or paper == self.no_effect:
            return False
        return high < self.no_effect if paper > self.no_effect else low > self.no_effect


@RULES.register("at_least")
@dataclass(frozen=True, kw_only=True)
class AtLeast(Rule):
    """The whole interval of the mean reaches a bound, which as a rule the statement itself names.

    Attributes:
        bound: the claim holds from here on.
        partly: and in part from here on.
        exact: whether nothing in the number is drawn: one run then decides.
        each: whether each single run has to reach the bound too, where the statement is about
            each of them and not about their mean.
    """

    bound: float
    partly: float
    exact: bool = False
    each: bool = False

    def words(self) -> str:
        """See :class:`Rule`."""
        each = ", and each single number is too" if self.each else ""
        return (
            f"reproduced where the whole 95% interval is at least {four_digits(self.bound)}{each}; "
            f"partly where all of it is at least {four_digits(self.partly)}; not reproduced "
            "where none of it is, and else not decided"
        )

    def judge(
        self, paper: float | None, sample: Sequence[float], other: Sequence[float]
    ) -> ClaimVerdict:
        """See :class:`Rule`."""
        found = estimate(sample)
        told = f"the mean is {_in_words(found)}"
        if found.runs == 1 and not self.exact:
            return ClaimVerdict(Outcome.NOT_DECIDED, f"{told}; {_ONE_RUN}")
        low, high = found.low, found.high
        reached = low >= self.bound
        if self.each:
            reached &= min(sample) >= self.bound
            told += f"; the lowest is {four_digits(min(sample))}"
        if low >= self.partly:
            return ClaimVerdict(Outcome.REPRODUCED if reached else Outcome.PARTLY, told)
        return ClaimVerdict(
            Outcome.NOT_DECIDED if high >= self.partly else Outcome.NOT_REPRODUCED, told
        )
