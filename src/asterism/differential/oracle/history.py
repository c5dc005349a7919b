"""What each worker process had run before a model: a fault may need it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asterism.core.files.records import ShortText
from asterism.differential.adapters.backends import library_of
from asterism.differential.engine.tasks import Result

#: Models of a worker that are remembered, the latest ones.
REMEMBERED = 32


@dataclass(frozen=True)
class Earlier:
    """A model that a worker ran before another one.

    Args:
        model: its index.
        distributions: kinds of inputs that it was run with.
    """

    model: int
    distributions: tuple[ShortText, ...]


class Histories:
    """What every worker has run since its process began, as the results of a run follow.

    Results come in the order in which the workers got their models. A run that was interrupted,
    or whose parts several processes shared, began more processes than that: then this is more
    than the worker had.
    """

    def __init__(self) -> None:
        self._ran: dict[str, list[Earlier]] = {}

    def before(self, backend: str) -> tuple[Earlier, ...]:
        """The models before the next one, in the worker of a backend or a converter."""
        return tuple(self._ran.get(library_of(backend), ()))

    def add(self, result: Result) -> None:
        """A model has run. A worker that died of it begins anew."""
        died = set(_workers(result, killed=True))
        for worker in set(_workers(result)):
            kept = [] if worker in died else self._ran.get(worker, [])
            now = [] if worker in died else [Earlier(result.index, result.distributions)]
            self._ran[worker] = [*kept, *now][-REMEMBERED:]


def _workers(result: Result, *, killed: bool = False) -> Iterator[str]:
    """The workers that were asked something of a model, or those that died of it."""
    for backend, outcome in result.outcomes.items():
        if outcome.killed if killed else outcome.status != "blocked":
            yield library_of(backend)
