"""An original and its compressed model, which answer the same inputs.

A search proposes the inputs that both models are asked about next.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons import find_unanswered_inputs
from asterism.models.classifier import IsolatedClassifier
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.isolated_model import ModelCrashError

Outputs = NDArray[np.float32]

#: A call that keeps the models at work for so long is worth what it costs beside that.
_CALL_SECONDS = 0.02
#: The most items that such a call has.
_LARGEST_FULL_BATCH = 512


Items = NDArray[Any]
Rows = NDArray[np.int64]


class Model(Protocol):
    """A model of any domain: items in, vectors out."""

    name: str
    #: K, the length of a vector; for a classifier the number of classes.
    classes: int

    def predict(self, items: Any) -> Outputs:
        """Outputs float32 ``(N, K)``; a row is the same in every batch."""


@dataclass(frozen=True)
class PairedOutputs:
    """The outputs of both models.

    Attributes:
        f: outputs of the original, float32 ``(N, K)``.
        g: outputs of the compressed model, float32 ``(N, K)``.
        failures: why an input has no answer, by its row: a model failed on it, or the original
            gives numbers that are not finite. Rows of a model that failed hold NaN.
    """

    f: Outputs
    g: Outputs
    failures: dict[int, str]


@dataclass(frozen=True)
class PairQuery:
    """Items that the models have been asked about.

    Attributes:
        f: what the original will have said.
        g: what the compressed model will have said.
    """

    f: Future[tuple[Outputs, dict[int, str]]]
    g: Future[tuple[Outputs, dict[int, str]]]

    def result(self) -> PairedOutputs:
        """Wait for both models."""
        (f, f_failures), (g, g_failures) = self.f.result(), self.g.result()
        unknown = np.flatnonzero(find_unanswered_inputs(f)).tolist()
        lost = dict.fromkeys(unknown, "the original gives no finite answer")
        return PairedOutputs(f, g, lost | g_failures | f_failures)


class ModelPair:
    """Asks both models. Each answers in the order of the questions.

    Args:
        original: f.
        compressed: g.
        in_process: whether both models run in this process. There they are asked one after the
            other by the thread that asks: threads of their own would wait for each other and for
            the interpreter's lock, which makes small networks take three times as long.

    Attributes:
        models: both.
        in_process: whether both run in this process, so that asking waits for the answers.
    """

    def __init__(self, original: Model, compressed: Model, in_process: bool = False) -> None:
        self.models, self.in_process = (original, compressed), in_process
        executor = _AskingThread if in_process else partial(ThreadPoolExecutor, 1)
        self._threads = executor(), executor()
        self._work = _Stopwatch()
        self._asked = 0

    @property
    def full_batch(self) -> int:
        """How many items fill a call, by the models' speed so far.

        Nothing but the time that a search takes may depend on it.
        """
        if not self.busy_seconds:
            return 1
        items = int(_CALL_SECONDS * self._asked / self.busy_seconds)
        return min(max(1, items), _LARGEST_FULL_BATCH)

    @property
    def busy_seconds(self) -> float:
        """Seconds in which a model was at work, for measurements."""
        return self._work.seconds

    def ask(self, items: NDArray[Any]) -> PairedOutputs:
        """Outputs of both models; an input on which a model fails does not affect the others."""
        return self.submit(items).result()

    def submit(self, items: NDArray[Any]) -> PairQuery:
        """Ask both models, without waiting for the outputs of models in other processes."""
        self._asked += len(items)
        f, g = (
            thread.submit(self._answer, model, items)
            for thread, model in zip(self._threads, self.models, strict=True)
        )
        return PairQuery(f, g)

    def _answer(self, model: Model, items: NDArray[Any]) -> tuple[Outputs, dict[int, str]]:
        with self._work:
            return _ask(model, items)


class _AskingThread(Executor):
    """Makes a call at once, in the thread that submits it."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The call's result or error, as a future that is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class _Stopwatch:
    """The time in which at least one of several threads is inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._since = 0.0
        self.seconds = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._since = time.perf_counter()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self.seconds += time.perf_counter() - self._since


def _ask(model: Model, items: NDArray[Any]) -> tuple[Outputs, dict[int, str]]:
    """Outputs, and the reason for each row that has none.

    A model that hangs says nothing about an input: it raises an error, and is not called again.
    """
    try:
        outputs = model.predict(items)
    except ModelCrashError as error:
        if len(items) == 1:
            return np.full((1, model.classes), np.nan, np.float32), {0: str(error)}
        middle = len(items) // 2
        left, left_failed = _ask(model, items[:middle])
        right, right_failed = _ask(model, items[middle:])
        failed = left_failed | {row + middle: why for row, why in right_failed.items()}
        return np.concatenate([left, right]), failed
    return outputs, {}


@contextmanager
def open_classifiers(
    original: Path, compressed: Path, preprocessing: PreprocessingParams
) -> Iterator[tuple[IsolatedClassifier, IsolatedClassifier]]:
    """Both model files, each in a process of its own, checked to belong together.

    Raises:
        UserError: a file cannot be opened, or the models take other images or tell apart
            another number of classes.
    """
    with ExitStack() as opened:
        with ThreadPoolExecutor(2) as threads:  # both processes start at once
            files = (original, compressed)
            starts = [threads.submit(IsolatedClassifier, file, preprocessing) for file in files]
        for start in starts:
            if start.exception() is None:
                opened.enter_context(start.result())
        f, g = (start.result() for start in starts)
        if f.input_shape != g.input_shape:
            raise UserError(
                f"{original} takes images of shape {f.input_shape}, but {compressed} takes "
                f"{g.input_shape}: they are no pair"
            )
        if f.classes != g.classes:
            raise UserError(
                f"{original} tells {f.classes} classes apart, but {compressed} {g.classes}: they "
                "are no pair"
            )
        yield f, g


@dataclass(frozen=True)
class Proposal:
    """Mutants to ask the models about in one call.

    Attributes:
        trajectories: whose they are, int64 ``(t,)``.
        counts: how many queries each trajectory has, at least 1, int64 ``(t,)``.
        items: the mutants ``(n, ...)``, trajectory by trajectory, each one's in the order in which
            they count.
        comes_again: which mutants a search is likely to make once more, bool ``(n,)``.
        skipped: which of the queries have no item: they are counted, and nothing comes of them,
            bool ``(sum of counts,)``; None: each query has its item.
    """

    trajectories: Rows
    counts: Rows
    items: Items
    comes_again: NDArray[np.bool_]
    skipped: NDArray[np.bool_] | None = field(default=None, kw_only=True)

    @cached_property
    def rows(self) -> Rows:
        """The query of each item, int64 ``(n,)``."""
        if self.skipped is None:
            return np.arange(len(self.items))
        return np.flatnonzero(~self.skipped)

    @cached_property
    def owners(self) -> Rows:
        """The trajectory of each item, int64 ``(n,)``."""
        return np.repeat(self.trajectories, self.counts)[self.rows]
