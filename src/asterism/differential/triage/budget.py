"""How long triage may look for something smaller: candidates of each finding, minutes of all."""

from __future__ import annotations

import time
from collections.abc import Callable


class Ceiling:
    """The minutes after which no candidate is tried and no finding is taken up any more.

    Counts decide what triage finds; a ceiling only cuts a run short. A run that it cuts has shrunk
    at least one finding that no earlier run had. So runs one after another come to an end, however
    low it is.

    Args:
        minutes: from now on; 0 for no ceiling.
        now: a clock, in seconds.
    """

    def __init__(self, minutes: float, now: Callable[[], float] = time.monotonic) -> None:
        self._minutes, self._now = minutes, now
        self._began = now()
        self._has_advanced = False

    @property
    def name(self) -> str:
        """The parameter and its value, as reports name it."""
        return f"triage.minutes={self._minutes:g}"

    def advanced(self) -> None:
        """A finding was shrunk that no earlier run had."""
        self._has_advanced = True

    def is_reached(self) -> bool:
        """Whether the time is over; once it is, it stays so."""
        over = self._now() - self._began >= 60 * self._minutes
        return bool(self._minutes) and self._has_advanced and over


#: For a triage that takes as long as it takes.
NO_CEILING = Ceiling(0)


class TriageBudget:
    """The candidates that may be tried for one finding. Once it has ended, the rest is counted.

    Args:
        steps: how many.
        name: of the parameter that says so.
        ceiling: of time, after which none is tried.

    Attributes:
        tried: how many candidates were asked.
        untried: those that were left to try of the model at which it ended. One of them that shows
            the finding would bring others.
        out_of_time: whether it was time, rather than steps, for want of which it ended.
    """

    def __init__(self, steps: int, name: str = "", ceiling: Ceiling = NO_CEILING) -> None:
        self.tried = 0
        self.untried: set[str] = set()
        self.out_of_time = False
        self._steps, self._name, self._ceiling = steps, name, ceiling

    def allows(self, candidate: str) -> bool:
        """Whether one more candidate may be tried, which is then counted as such.

        Args:
            candidate: its name.
        """
        has_steps = self.tried < self._steps
        if self.untried or not has_steps or self._ceiling.is_reached():
            self.out_of_time |= not self.untried and has_steps
            self.untried.add(candidate)
            return False
        self.tried += 1
        return True

    @property
    def unfinished(self) -> str:
        """Why it ended and what it would take to go on; nothing where it did not end."""
        if not self.untried:
            return ""
        many = len(self.untried)
        left = f"{many:,} smaller models are" if many > 1 else "1 smaller model is"
        because = self._ceiling.name if self.out_of_time else f"{self._name}={self._steps}"
        goes_on = ", and the next run goes on here" if self.out_of_time else ""
        return f"stopped by {because}; {left} left to try{goes_on}"
