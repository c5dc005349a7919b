"""The ceiling of time of a whole triage."""

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
