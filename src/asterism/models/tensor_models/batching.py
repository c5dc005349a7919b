"""Running batches through a model so that no row of the result depends on the other rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.settings import machine

#: Rows that are tried together and alone.
TRIALS = 16
#: Most rows of one call, and most bytes that a call takes and gives, so that a large model's
#: intermediate results stay in memory. A row of so many bytes is worth a call of its own.
_LARGEST_CALL, _LARGEST_BYTES, _LARGE_ROW = 128, 16_000_000, 400_000
#: Numbers that a model makes of a token at least.
_A_TOKEN = 256
#: Less work than this is not worth handing to a thread.
_WORTHWHILE_S = 0.5e-3

Run = Callable[[NDArray[Any]], NDArray[Any]]


class IndependentRows:
    """Calls a model in batches, in several threads; a row's result is the same in every batch.

    Whether the model mixes the rows of a batch is tried with :data:`TRIALS` rows. One that does
    gets each row alone. So does one with large rows: nothing is gained by more of them in a call.

    Args:
        run: the model: ``(n, ...)`` to ``(n, ...)``. It is called from several threads at once.
        fixed_batch: rows that every call must have; None where any number will do.
        trials: rows to try, at least :data:`TRIALS`.
        sizes: numbers of rows, beside one, into which the model itself cuts a call; empty where it
            cuts none.
        workers: threads that call the model; None for as many as the machine's settings say.
    """

    def __init__(
        self,
        run: Run,
        fixed_batch: int | None,
        trials: NDArray[Any],
        sizes: Sequence[int] = (),
        workers: int | None = None,
    ) -> None:
        self._model = run
        self._workers = workers or machine.available_threads()
        self._threads = ThreadPoolExecutor(self._workers)
        self._batch = fixed_batch
        self._alone = False
        #: Rows that make a thread's while, and the most of a call.
        self._grain, self._most = 1, _LARGEST_CALL
        self._settle(trials, sizes or (TRIALS,))

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        """The model's results for at least one row."""
        if self._batch is None or self._batch == 1:
            share = -(-len(values) // self._workers)
            size = min(self._most, max(share, self._grain))
        else:
            size = 1 if self._alone else self._batch
        pieces = [values[start : start + size] for start in range(0, len(values), size)]
        if len(pieces) == 1:
            return self._call(pieces[0])
        side_by_side = self._threads.map if self._workers > 1 else map
        return np.concatenate(list(side_by_side(self._call, pieces)))

    def _call(self, piece: NDArray[Any]) -> NDArray[Any]:
        if self._batch is None or len(piece) == self._batch:
            return self._model(piece)
        if self._batch == 1:
            return _one_by_one(self._model, piece)
        filled = np.concatenate([piece, np.repeat(piece[-1:], self._batch - len(piece), axis=0)])
        return self._model(filled)[: len(piece)]

    def _settle(self, trials: NDArray[Any], sizes: Sequence[int]) -> None:
        """Find out how to run a batch so that no row's result depends on the others."""
        if self._batch is None:
            self._settle_free(trials[:TRIALS], sizes)
        elif self._batch > 1:
            first = np.repeat(trials, -(-self._batch // len(trials)), axis=0)[: self._batch]
            other = first[::-1].copy()
            other[0] = first[0]
            row, same = (self._model(batch)[0] for batch in (first, other))
            self._alone = not np.array_equal(row, same, equal_nan=True)

    def _settle_free(self, trials: NDArray[Any], sizes: Sequence[int]) -> None:
        first = self._model(trials[:1])
        tokens = trials.ndim == 2 and trials.dtype.kind in "iu"
        size = max(first.nbytes, 4 * trials[0].size * (_A_TOKEN if tokens else 1))
        if size >= _LARGE_ROW:
            self._batch = 1
            return
        self._most = min(_LARGEST_CALL, _LARGEST_BYTES // size)
        each = np.concatenate([first, _one_by_one(self._model, trials[1:])])
        for number in sizes:
            rows = np.arange(number) % len(trials)
            started = time.perf_counter()
            try:
                together = self._model(trials[rows])
            except Exception:  # one row only: its shapes may be written into its operators
                self._batch = 1
                return
            seconds = time.perf_counter() - started
            if not np.array_equal(together, each[rows], equal_nan=True):
                self._batch = 1
                return
            # It decides on speed only, never on a result.
            self._grain = int(_WORTHWHILE_S / seconds * number) + 1


def _one_by_one(run: Run, values: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([run(values[i : i + 1]) for i in range(len(values))])
