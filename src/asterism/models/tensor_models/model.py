"""A model file of any signature as a function of items: one row of real numbers for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError, naming
from asterism.models.runtimes.runtime import Runtime, Tensors, open_runtime
from asterism.models.tensor_models.answers import (
    ComparedOutputs,
    OutputForm,
    Rows,
    Shape,
    side_by_side,
)
from asterism.models.tensor_models.batching import TRIALS, IndependentRows
from asterism.models.tensor_models.feeding import Feed, FeedingParams


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
        some = np.resize(items, (max(TRIALS, fixed or 1), *items.shape[1:]))
        try:
            fixed = self._settle(some, fixed) or batch
            tried = self._steps(some[: fixed or 1])
            if wanted is not None and not self.streams:
                own = {name: value.shape[1:] for name, value in tried.items()}
                if moved := self._outputs.move_channels(own, wanted):
                    self.notes = (*self.notes, *moved)
                    tried = self._steps(some[: fixed or 1])
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
        return side_by_side(self._steps(items))

    def _steps(self, items: NDArray[Any]) -> dict[str, Rows]:
        """Compared outputs by name, ``(n, ...)``; of a streaming model ``(n, steps, ...)``.

        Of a decoder they are ``(n, tokens, ...)``.
        """
        if not self.streams:
            return self._outputs.answers(self._runtime.run(self._feed.inputs(items)), len(items))
        self._runtime.reset()
        states, found = self._feed.first_states(len(items)), []
        with naming(self._path):
            calls = self._feed.calls(items)
        for call in calls:
            outputs = self._runtime.run({**call, **states})
            states = self._feed.next_states(outputs)
            found.append(self._outputs.answers(outputs, len(items)))
        join = np.concatenate if self._decodes else np.stack
        return {name: join([step[name] for step in found], axis=1) for name in found[0]}
