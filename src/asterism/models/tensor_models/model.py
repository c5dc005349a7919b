"""A model file of any signature as a function of items: one row of real numbers for each.

Batches run through a model so that no row of the result depends on the other rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError, name_file_in_errors
from asterism.core.settings import machine
from asterism.models.formats import Runtime, Tensors, mixes_inputs, open_runtime
from asterism.models.tensor_models.answers import (
    ComparedOutputs,
    OutputForm,
    Rows,
    Shape,
    join_outputs,
)
from asterism.models.tensor_models.feeding import Feed, FeedingParams

#: Rows that are tried together and alone.
TRIALS = 16
#: Most rows of one call, and most bytes that a call takes and gives, so that a large model's
#: intermediate results stay in memory. A row of so many bytes is worth a call of its own.
_LARGEST_CALL, _LARGEST_BYTES, _LARGE_ROW = 128, 16_000_000, 400_000
#: Numbers that a model makes of a token at least.
_A_TOKEN = 256
#: The share of the largest number by which an answer alone differs from the one in a call, where
#: more than last bits depend on how many rows a call has.
_MORE_THAN_LAST_BITS = 1e-4
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
            mixed = np.resize(trials, (self._batch, *trials.shape[1:]))
            self._alone = mixes_inputs(lambda rows: {"rows": self._model(rows)}, mixed)

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


def _difference(one: Rows, other: Rows) -> float:
    """The largest difference of two answers, as a share of the largest number in them."""
    gaps = np.abs(np.subtract(one, other, dtype=np.float64))
    known = np.isfinite(gaps)
    if not gaps[known].any():
        return 0.0
    numbers = np.abs([one[known], other[known]])
    return float(gaps[known].max() / numbers.max())


def _one_by_one(run: Run, values: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([run(values[i : i + 1]) for i in range(len(values))])


@dataclass(frozen=True, eq=False)
class OpeningRequest:
    """How a model is to be opened, and for which items.

    Attributes:
        feeding: what to give beside the items.
        images: whether items are images uint8 ``(N, H, W, C)``.
        trial_items: some items, ``(n, ...)`` with n of at least 1: on them the model is tried.
        rooms: see :meth:`.ComparedOutputs.make_room`.
        wanted: shapes of the outputs that they are compared with; None for none.
    """

    feeding: FeedingParams
    images: bool
    trial_items: NDArray[Any]
    rooms: Sequence[int] | None = None
    wanted: Sequence[Shape] | None = None


class FileModel:
    """A model file that answers to items.

    A streaming model is called step by step along an item's first axis, with the states that it
    carries; its row holds the answers of all steps. A decoder with a cache that grows is called
    token by token; its answers about all tokens follow each other as in one call.

    Args:
        path: the file; its suffix names the format.
        asked: how to open it.
        runtime: the open file; None where it is to be opened.
        batch: rows of each call where the file leaves it free; None for any number.

    Attributes:
        name: the file's name.
        form: how its compared outputs lie in a row.
        classes: numbers in a row; for a classifier its classes.
        notes: what a reader of the results should know.

    Raises:
        UserError: the file cannot be opened, an input is left without a value, or the model fails
            on the trial items.
    """

    def __init__(
        self,
        path: Path,
        asked: OpeningRequest,
        runtime: Runtime | None = None,
        batch: int | None = None,
    ) -> None:
        self._rooms, wanted = asked.rooms, asked.wanted
        self.name, self._path = path.name, path
        self._runtime = open_runtime(path) if runtime is None else runtime
        signature = self._runtime.signature
        self._feed = Feed(signature, asked.feeding, asked.images)
        self._outputs = ComparedOutputs(signature, asked.feeding.outputs, str(path))
        self.streams, self._decodes = signature.streams, bool(signature.caches)
        self.notes = tuple(self._feed.notes)
        fixed = 1 if signature.variables else self._runtime.fixed_batch
        items = asked.trial_items
        some = np.resize(items, (max(TRIALS, fixed or batch or 1), *items.shape[1:]))
        try:
            needed = self._settle(some, fixed)
            fixed = needed or batch
            tried = self._steps(some[: fixed or 1])
            if wanted is not None and not self.streams:
                own = {name: value.shape[1:] for name, value in tried.items()}
                if moved := self._outputs.move_channels(own, wanted):
                    self.notes = (*self.notes, *moved)
                    tried = self._steps(some[: fixed or 1])
            if needed is None and batch is not None:
                self.notes = (*self.notes, *self._size_of_calls(some, tried, batch))
            workers = 1 if self._runtime.calls_alone else None
            self._rows = IndependentRows(self._run, fixed, some, self._runtime.sizes, workers)
        except UserError:
            raise
        except Exception as error:
            takes = ", ".join(map(str, signature.given))
            raise UserError(
                f"{path} failed on the first inputs, each {items.dtype} {items.shape[1:]}; it "
                f"takes {takes}: {error}"
            ) from error
        shapes = {name: value.shape[1:] for name, value in tried.items()}
        outputs = self._outputs
        self.form = OutputForm(shapes, outputs.axes, outputs.room, outputs.moved)
        self.classes = self.form.width

    def _settle(self, some: NDArray[Any], fixed: int | None) -> int | None:
        """Find how outputs hold inputs, and how many inputs a call has to have; None for any."""
        if self.streams:
            return fixed

        def run(items: NDArray[Any]) -> Tensors:
            return self._runtime.run(self._feed.inputs(items))

        if fixed is None:
            try:
                self._outputs.settle(run(some[:2]), 2, run(some[:3]), 3)
            except Exception:  # a file may leave the batch free and take one input only
                fixed = 1
        if fixed is not None:
            self._outputs.settle(run(some[:fixed]), fixed, None, 0)
        if not self._outputs.batched:
            if (fixed or 1) > 1:
                raise UserError(f"{self._path}: no axis of an output counts the {fixed} inputs")
            fixed = 1
        if fixed in (None, 1):
            found = self._outputs.make_room(lambda n: run(some[n : n + 1]), TRIALS, self._rooms)
            self.notes = (*self.notes, *found)
        return fixed

    def _size_of_calls(
        self, some: NDArray[Any], tried: dict[str, Rows], number: int
    ) -> tuple[str, ...]:
        """A note where more than last bits depend on how many rows a call has, as in bfloat16.

        Args:
            some: at least ``number`` items.
            tried: the answers to the first ``number`` of them in one call.
        """
        largest = 0.0
        for place in range(min(TRIALS, number)):
            for name, alone in self._steps(some[place : place + 1]).items():
                largest = max(largest, _difference(alone[0], tried[name][place]))
        if largest <= _MORE_THAN_LAST_BITS:
            return ()
        return (
            f"its answers depend on how many inputs a call has, {number} here: an input alone gets "
            f"one that differs by up to {largest:.1g} of the largest number",
        )

    def predict(self, items: NDArray[Any]) -> Rows:
        """The compared outputs of items, one after the other, float32 ``(N, classes)``.

        An item's row is the same bytes in every batch.
        """
        if not len(items):
            return np.empty((0, self.classes), np.float32)
        return self._rows(items)

    def close(self) -> None:
        """Nothing runs for it beside this process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, items: NDArray[Any]) -> Rows:
        return join_outputs(self._steps(items))

    def _steps(self, items: NDArray[Any]) -> dict[str, Rows]:
        """Compared outputs by name, ``(n, ...)``; of a streaming model ``(n, steps, ...)``.

        Of a decoder they are ``(n, tokens, ...)``.
        """
        if not self.streams:
            return self._outputs.answers(self._runtime.run(self._feed.inputs(items)), len(items))
        self._runtime.reset()
        states, found = self._feed.first_states(len(items)), []
        with name_file_in_errors(self._path):
            calls = self._feed.calls(items)
        for call in calls:
            outputs = self._runtime.run({**call, **states})
            states = self._feed.next_states(outputs)
            found.append(self._outputs.answers(outputs, len(items)))
        join = np.concatenate if self._decodes else np.stack
        return {name: join([step[name] for step in found], axis=1) for name in found[0]}
