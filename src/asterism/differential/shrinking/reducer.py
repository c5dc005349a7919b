"""Delta debugging: fewer parts of a model, and simpler ones, as long as it shows a finding.

It serves every kind of model. What parts are, and what is simpler, each kind says itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

M = TypeVar("M")
P = TypeVar("P")


@dataclass(frozen=True)
class RunnableParts(Generic[M]):
    """The parts of a model that can run by themselves.

    Args:
        order: numbers of the parts, each after those that it reads from.
        sources: the parts that one reads from.
        alone: some parts as a model of their own; None where they cannot be one.
    """

    order: Sequence[int]
    sources: Callable[[int], Iterable[int]]
    alone: Callable[[set[int]], M | None]

    def nearest_first(self, part: int) -> list[int]:
        """A part and all that it depends on, by the number of steps between."""
        found = [part]
        for one in found:  # grows while it is gone through
            found += [s for s in dict.fromkeys(self.sources(one)) if s not in found]
        return found


class Reducer(Generic[M]):
    """Makes one model smaller while ``shows`` holds.

    Args:
        shows: asked for every candidate; the model that comes in is known to show it.
        key: a name of a candidate; nothing is asked twice.
        budget: the budget of candidates.
    """

    def __init__(
        self, shows: Callable[[M], bool], key: Callable[[M], str], budget: TriageBudget
    ) -> None:
        self._shows, self._key, self._budget = shows, key, budget
        self._gone: set[str] = set()

    def still(self, model: M | None) -> bool:
        """Whether a candidate shows the finding; none is tried twice or after the budget ended."""
        if model is None or (key := self._key(model)) in self._gone:
            return False
        if not self._budget.allows(key):
            return False
        if self._shows(model):
            return True
        self._gone.add(key)
        return False

    def fewest(self, whole: M, parts: RunnableParts[M], suspect: int | None = None) -> M:
        """The suspect with the fewest parts before it that show the fault; else halves of halves.

        Args:
            whole: the model.
            parts: of it.
            suspect: the part that is tried alone first, where one is known.
        """
        around = None if suspect is None else self._around(parts, suspect)
        return self._half(whole, parts) if around is None else around

    def repeat(self, model: M, candidates: Callable[[M], Iterator[M]]) -> M:
        """Take the first candidate that still shows it, until none does."""
        while (smaller := next(filter(self.still, candidates(model)), None)) is not None:
            model = smaller
        return model

    def in_groups(
        self, model: M, parts: Sequence[P], changed: Callable[[M, Sequence[P]], M | None]
    ) -> M:
        """Change all parts at once, then halves of them, quarters, and each, where it still shows.

        Args:
            model: that shows it.
            parts: what can be changed.
            changed: a model with some of them changed; None where that is not possible.
        """
        size = len(parts)
        while size:
            for start in range(0, len(parts), size):
                smaller = changed(model, parts[start : start + size])
                if smaller is not None and smaller != model and self.still(smaller):
                    model = smaller
            size //= 2
        return model

    def _around(self, parts: RunnableParts[M], suspect: int) -> M | None:
        """The suspect alone, else with the nearest parts that it depends on, ever more."""
        near = parts.nearest_first(suspect)
        size = 1
        while size < len(parts.order):
            model = parts.alone(set(near[:size]))
            if self.still(model):
                return model
            if size == len(near):
                break
            size = min(2 * size + 1, len(near))
        return None

    def _half(self, model: M, parts: RunnableParts[M]) -> M:
        """The first or the second half of the parts, as often as one of them is enough."""
        order = list(parts.order)
        while len(order) > 1:
            middle = len(order) // 2
            for half in (order[:middle], order[middle:]):
                smaller = parts.alone(set(half))
                if smaller is not None and self.still(smaller):
                    model, order = smaller, half
                    break
            else:
                break
        return model


class TriageDeadline:
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
        """Record that a finding was shrunk that no earlier run had shrunk."""
        self._has_advanced = True

    def is_reached(self) -> bool:
        """Whether the time is over; once it is, it stays so."""
        over = self._now() - self._began >= 60 * self._minutes
        return bool(self._minutes) and self._has_advanced and over


#: For a triage that takes as long as it takes.
NO_CEILING = TriageDeadline(0)


class TriageBudget:
    """The candidates that may be tried for one finding. Once it has ended, the rest is counted.

    Args:
        steps: how many.
        name: the name of the parameter that says so.
        ceiling: the ceiling of time, after which none is tried.

    Attributes:
        tried: how many candidates were asked.
        untried: those that were left to try of the model at which it ended. One of them that shows
            the finding would bring others.
        out_of_time: whether it was time, rather than steps, for want of which it ended.
    """

    def __init__(self, steps: int, name: str = "", ceiling: TriageDeadline = NO_CEILING) -> None:
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
        """Why the budget ended, and what would continue; empty if it did not end."""
        if not self.untried:
            return ""
        many = len(self.untried)
        left = f"{many:,} smaller models are" if many > 1 else "1 smaller model is"
        because = self._ceiling.name if self.out_of_time else f"{self._name}={self._steps}"
        goes_on = ", and the next run resumes here" if self.out_of_time else ""
        return f"stopped by {because}; {left} left to try{goes_on}"
