"""Running batches through a model so that no row of the result depends on the other rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.settings import machine

#: Rows that are tried together and alone.
PROBES = 16
#: Most rows of one call, so that a large model's intermediate results stay in memory.
_LARGEST_CALL = 128
#: Less work than this is not worth handing to a thread.
_WORTHWHILE_S = 0.5e-3

Run = Callable[[NDArray[Any]], NDArray[Any]]


class IndependentRows:
    """Calls a model in batches, in several threads; a row's result is the same in every batch.

    Whether the model mixes the rows of a batch is tried with :data:`PROBES` rows. One that does
    gets each row alone.

    Args:
        run: the model: ``(n, ...)`` to ``(n, ...)``. It is called from several threads at once.
        fixed_batch: rows that every call must have; None where any number will do.
        probes: rows to try, ``(PROBES, ...)``.
    """

    def __init__(self, run: Run, fixed_batch: int | None, probes: NDArray[Any]) -> None:
        self._model = run
        self._threads = ThreadPoolExecutor(machine.available_threads())
        self._workers = machine.available_threads()
        self._batch = fixed_batch
        self._alone = False
        self._settle(probes)
        self._grain = self._measure_grain(probes)

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        """The model's results for at least one row."""
        if self._batch is None:
            share = -(-len(values) // self._workers)
            size = min(_LARGEST_CALL, max(share, self._grain))
        else:
            size = 1 if self._alone else self._batch
        pieces = [values[start : start + size] for start in range(0, len(values), size)]
        if len(pieces) == 1:
            return self._call(pieces[0])
        return np.concatenate(list(self._threads.map(self._call, pieces)))

    def _call(self, piece: NDArray[Any]) -> NDArray[Any]:
        if self._batch is None or len(piece) == self._batch:
            return self._model(piece)
        filled = np.concatenate([piece, np.repeat(piece[-1:], self._batch - len(piece), axis=0)])
        return self._model(filled)[: len(piece)]

    def _measure_grain(self, probes: NDArray[Any]) -> int:
        """How many rows make a thread's while; it decides on speed only, never on a result."""
        if self._batch is not None:
            return 1
        started = time.perf_counter()
        self._model(probes)
        return int(_WORTHWHILE_S / (time.perf_counter() - started) * PROBES) + 1

    def _settle(self, probes: NDArray[Any]) -> None:
        """Find out how to run a batch so that no row's result depends on the others."""
        if self._batch is None:
            each = np.concatenate([self._model(probes[i : i + 1]) for i in range(PROBES)])
            if not np.array_equal(self._model(probes), each, equal_nan=True):
                self._batch = 1
        elif self._batch > 1:
            first = np.repeat(probes, -(-self._batch // PROBES), axis=0)[: self._batch]
            other = first[::-1].copy()
            other[0] = first[0]
            row, same = (self._model(batch)[0] for batch in (first, other))
            self._alone = not np.array_equal(row, same, equal_nan=True)
