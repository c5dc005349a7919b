"""Delta debugging: fewer parts of a model, and simpler ones, as long as it shows a finding.

It serves every kind of model. What parts are, and what is simpler, each kind says itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from asterism.differential.triage.ceiling import NO_CEILING, Ceiling

M = TypeVar("M")


@dataclass(frozen=True)
class Parts(Generic[M]):
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
        steps: how many candidates may be tried.
        ceiling: of time, after which none is tried.

    Attributes:
        out_of_time: whether it was time, rather than steps, for want of which it stopped.
        tried: how many candidates were asked.
    """

    def __init__(
        self,
        shows: Callable[[M], bool],
        key: Callable[[M], str],
        steps: int,
        ceiling: Ceiling = NO_CEILING,
    ) -> None:
        self.out_of_time = False
        self.tried = 0
        self._shows, self._key = shows, key
        self._steps, self._ceiling = steps, ceiling
        self._gone: set[str] = set()
        self._untried: set[str] = set()

    @property
    def untried(self) -> int:
        """How many candidates were left to try of the model that it stopped at; 0 of a minimal one.

        One of them that shows the finding would bring others.
        """
        return len(self._untried)

    def still(self, model: M) -> bool:
        """Whether it is still there; nothing is asked twice, nor when no steps are left.

        Once it has stopped, the rest is gone through all the same, and counted.
        """
        key = self._key(model)
        if key in self._gone:
            return False
        if self._untried or self.tried >= self._steps or self._ceiling.is_reached():
            self.out_of_time |= not self._untried and self.tried < self._steps
            self._untried.add(key)
            return False
        self.tried += 1
        if self._shows(model):
            return True
        self._gone.add(key)
        return False

    def fewest(self, whole: M, parts: Parts[M], suspect: int | None = None) -> M:
        """The suspect and as few before it as it takes; else a half of a half of ….

        Args:
            whole: the model.
            parts: of it.
            suspect: the part that is tried alone first, where one is known.
        """
        around = None if suspect is None else self._around(parts, suspect)
        return self._half(whole, parts) if around is None else around

    def repeat(self, model: M, candidates: Callable[[M], Iterator[M]]) -> M:
        """Take the first candidate that still shows it, until none does."""
        found = True
        while found:
            found = False
            for smaller in candidates(model):
                if self.still(smaller):
                    model, found = smaller, True
                    break
        return model

    def _around(self, parts: Parts[M], suspect: int) -> M | None:
        """The suspect alone, else with the nearest parts that it depends on, ever more."""
        near = parts.nearest_first(suspect)
        size = 1
        while size < len(parts.order):
            model = parts.alone(set(near[:size]))
            if model is not None and self.still(model):
                return model
            if size == len(near):
                break
            size = min(2 * size + 1, len(near))
        return None

    def _half(self, model: M, parts: Parts[M]) -> M:
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


def unfinished(untried: int, steps: str, ceiling: str) -> str:
    """Why shrinking stopped and what it would take to go on; nothing where it did not stop.

    Args:
        untried: candidates that were left.
        steps: the budget of steps, as users name it.
        ceiling: that of time, where it was the reason, likewise.
    """
    if not untried:
        return ""
    left = f"{untried:,} smaller models are" if untried > 1 else "1 smaller model is"
    goes_on = ", and the next run goes on here" if ceiling else ""
    return f"stopped by {ceiling or steps}; {left} left to try{goes_on}"
