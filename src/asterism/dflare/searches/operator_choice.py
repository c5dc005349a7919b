"""Algorithm 2 of Dflare (Tian et al., TOSEM 2023) for many trajectories at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from asterism.core.metropolis import MetropolisHastings, PrecomputedDraws, Selector
from asterism.core.random_streams import BatchedStreams

Rows = NDArray[np.int64]

#: The operator of a trajectory that has not begun.
_NONE = -1
#: Random numbers that nearly always suffice for a choice: four proposals, of which each is
#: accepted with a chance of 63% and more.
_FEW_NUMBERS = 8
#: So many choices at least are worth array operations; fewer are faster one by one.
_ENOUGH = 32


class OperatorChoice:
    """How often each operator helped each trajectory, and which one is chosen next.

    The paper divides successes by the uses plus 1e-7, which ranks operators alike but for ties.

    Args:
        trajectories: how many there are.
        operators: how many there are.
        guided: Metropolis–Hastings over success rates; false: uniformly.
    """

    def __init__(self, trajectories: int, operators: int, guided: bool) -> None:
        self._candidates = range(operators)
        self._selector: Selector = (
            MetropolisHastings(1 / operators) if guided and operators > 1 else Selector()
        )
        self._last = np.full(trajectories, _NONE)
        self._chosen = np.zeros((trajectories, operators), np.int64)
        self._succeeded = np.zeros((trajectories, operators), np.int64)

    def ahead(self, trajectories: Rows, counts: Rows, choices: BatchedStreams) -> Rows:
        """The operators of each trajectory's next queries, provided that all are fruitless.

        Args:
            trajectories: the trajectories, int64 ``(t,)``.
            counts: how many queries each has, at least 1, int64 ``(t,)``.
            choices: random numbers of each query, trajectory by trajectory, ``n`` streams.

        Returns:
            int64 ``(n,)``.
        """
        drawn = _Choices(self._selector, self._candidates, choices)
        operators = np.empty(len(choices), np.int64)
        next_row, chosen = np.cumsum(counts) - counts, self._chosen[trajectories]
        succeeded, last = self._succeeded[trajectories], self._last[trajectories]
        rates = succeeded / np.maximum(chosen, 1)
        left, active = counts, np.arange(len(trajectories))
        while len(active) >= _ENOUGH:
            now = drawn.several(next_row[active], last[active], rates[active])
            operators[next_row[active]] = last[active] = now
            chosen[active, now] += 1
            rates[active, now] = succeeded[active, now] / chosen[active, now]
            next_row[active] += 1
            left = left - 1
            active = active[left[active] > 0]
        if len(active):
            spans = next_row[active], next_row[active] + left[active]
            history = last[active], chosen[active], succeeded[active], rates[active]
            for first, end, *own in zip(*(c.tolist() for c in (*spans, *history)), strict=True):
                operators[first:end] = drawn.one_by_one(first, end, *own)
        return operators

    def remember(self, trajectories: Rows, counts: Rows, operators: Rows, ends: Rows) -> None:
        """Record the operators that were chosen.

        Args:
            trajectories: the trajectories, int64 ``(t,)``.
            counts: for how many queries each got operators, int64 ``(t,)``.
            operators: of these queries, int64 ``(n,)``.
            ends: the row after each trajectory's last query that counts, int64 ``(t,)``.
        """
        counted = np.arange(len(operators)) < np.repeat(ends, counts)
        self._last[trajectories] = operators[ends - 1]
        owners = np.repeat(trajectories, counts)[counted]
        np.add.at(self._chosen, (owners, operators[counted]), 1)

    def succeed(self, trajectories: Rows, operators: Rows) -> None:
        """Count a success of an operator for each of these trajectories, all different."""
        self._succeeded[trajectories, operators] += 1


class _Choices:
    """Many choices, each with random numbers of its own."""

    def __init__(self, selector: Selector, candidates: range, streams: BatchedStreams) -> None:
        self._selector, self._candidates, self._streams = selector, candidates, streams
        self._numbers = streams.random((len(streams), _FEW_NUMBERS))
        self._proposals, self._reach = selector.proposals(len(candidates), self._numbers)

    def several(self, rows: Rows, last: Rows, rates: NDArray[np.float64]) -> Rows:
        """The choices of these rows, each of another trajectory.

        Args:
            rows: int64 ``(m,)``.
            last: what each trajectory chose last, int64 ``(m,)``.
            rates: how well each operator served, float64 ``(m, O)``.
        """
        proposals, reach = self._proposals[rows], self._reach[rows]
        chosen = proposals[:, 0]
        certain = (reach[:, 0] >= len(self._candidates) - 1) | (chosen == last) | (last == _NONE)
        open_ = np.flatnonzero(~certain)
        if not len(open_):
            return chosen
        each = np.arange(len(open_))[:, np.newaxis]
        order = (-rates[open_]).argsort(axis=1, kind="stable")
        ranks = np.empty_like(order)
        ranks[each, order] = np.arange(len(self._candidates))
        down = ranks[each, proposals[open_]] - ranks[each, last[open_, np.newaxis]]
        accepted = down <= reach[open_]
        chosen[open_] = proposals[open_, accepted.argmax(axis=1)]
        for place in open_[~accepted.any(axis=1)].tolist():
            chosen[place] = self._one(rows[place], last[place], rates[place].tolist())
        return chosen

    def one_by_one(
        self, start: int, end: int, last: int, uses: list[int], won: list[int], rates: list[float]
    ) -> list[int]:
        """The choices of the rows from ``start`` to ``end``, all of one trajectory.

        Args:
            start: the first row.
            end: the row after the last.
            last: what the trajectory chose last.
            uses: how often it chose each operator; goes on with these choices.
            won: how often each succeeded.
            rates: ``won / uses``; goes on, too.
        """
        operators = []
        for row in range(start, end):
            last = self._one(row, last, rates)
            operators.append(last)
            uses[last] += 1
            if won[last]:
                rates[last] = won[last] / uses[last]
        return operators

    def _one(self, row: int, last: int, rates: list[float]) -> int:
        """The choice of one row, as the selector makes it."""
        current = None if last == _NONE else last
        draws = PrecomputedDraws(self._random(row))
        return self._selector.select(self._candidates, rates.__getitem__, current, draws)

    def _random(self, row: int) -> Iterator[float]:
        """A row's random numbers, without an end."""
        yield from self._numbers[row].tolist()
        stream = self._streams.of(np.array([row]))
        stream.random((1, _FEW_NUMBERS))
        while True:
            yield from stream.random((1, _FEW_NUMBERS))[0].tolist()
