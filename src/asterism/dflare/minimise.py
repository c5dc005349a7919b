"""Making triggering inputs minimal: as few changes to the seed as still trigger.

Delta debugging (Zeller and Hildebrandt, TSE 2002) over the places that changed: revert them in
halves, quarters and so on, faint changes first, and keep every reversion after which the models
still deviate. All inputs take their steps together, so that every call of the models is a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import progress
from asterism.dflare.lockstep import PairUnderTest
from asterism.dflare.pair import PairedOutputs

Items = NDArray[Any]
Rows = NDArray[np.int64]


class _Reduction:
    """One input on its way to fewer changes."""

    def __init__(self, under_test: PairUnderTest, item: Items, reference: Items) -> None:
        self._domain = under_test.domain
        self._found, self._reference = item, reference
        self._reverted = np.empty(0, np.int64)
        self.item = item
        self._places = self._domain.changes(item, reference)
        self._size = max(1, -(-len(self._places) // 2))
        self._start = 0
        self._shrank = False
        self.finished = not len(self._places)

    def candidate(self) -> Items:
        """The item with the next few changes reverted."""
        places = np.concatenate([self._reverted, self._next()])
        return self._domain.revert(self._found, self._reference, places)

    def _next(self) -> NDArray[np.int64]:
        """The changes to revert next."""
        return self._places[self._start : self._start + self._size]

    def learn(self, candidate: Items, still_triggers: bool) -> None:
        """Keep the reversion or leave it, and go to the next."""
        if still_triggers:
            self.item = candidate
            self._reverted = np.concatenate([self._reverted, self._next()])
            self._shrank = True
            self._places = np.delete(self._places, slice(self._start, self._start + self._size))
        else:
            self._start += self._size
        if self._start >= len(self._places):
            # Single changes are tried until none of them can go any more.
            self.finished = not len(self._places) or (self._size == 1 and not self._shrank)
            self._size, self._start, self._shrank = max(1, self._size // 2), 0, False


def minimise(
    under_test: PairUnderTest,
    items: Items,
    references: Items,
    queries: int,
    holds: Callable[[PairedOutputs, Rows], NDArray[np.bool_]] | None = None,
) -> Items:
    """Triggering inputs with as many changes reverted as the budget allows.

    Args:
        under_test: models, domain and comparison.
        items: triggering inputs, ``(N, ...)``.
        references: their seeds.
        queries: reversions to try on each input at most.
        holds: which answers still show what is looked for, bool ``(n,)``; its second argument
            says which of the items each is about, int64 ``(n,)``. None: that the models deviate.

    Returns:
        Items that still trigger, each with a subset of the changes of the one given. They lie
        within the bound on mutants.
    """
    reductions = [_Reduction(under_test, i, r) for i, r in zip(items, references, strict=True)]
    for _ in progress(range(queries), label="minimising", unit="query"):
        rows = [row for row, reduction in enumerate(reductions) if not reduction.finished]
        if not rows:
            break
        active = [reductions[row] for row in rows]
        candidates = np.stack([r.candidate() for r in active])
        answers = under_test.pair.ask(candidates)
        if holds is None:
            triggers = under_test.comparison.deviates(answers.f, answers.g)
        else:
            triggers = holds(answers, np.array(rows, np.int64))
        if (bound := under_test.bound) is not None:  # one edit without another may lead farther
            measured = references[rows]
            triggers = triggers & under_test.domain.within(
                candidates, measured, bound.measure, bound.limit
            )
        for row, reduction in enumerate(active):
            reduction.learn(candidates[row], bool(triggers[row]) and row not in answers.failures)
    return np.stack([r.item for r in reductions]) if reductions else items
