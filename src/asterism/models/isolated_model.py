"""Models in processes of their own, so that one that crashes or hangs harms no other work.

A damaged or hostile model file can end a process (a segmentation fault in native code, a failed
check, memory), at opening or at the one input that reaches the defect. In a process of its own
that is an answer like any other: the caller learns that the model crashed, and why. A model that
never answers is ended after a time limit, and is not started again.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.core.workers.channel import Bytes, Channel
from asterism.core.workers.entry import find_function, name_function
from asterism.core.workers.starting import ForkServer
from asterism.core.workers.worker import WorkerDied, WorkerLimits, WorkerProcess

#: Seconds for a call, and for opening the file: a model that takes longer hangs.
PATIENCE_S = 600.0

#: What kind of answer follows: a result, an error of the user's, an error of the model's own.
_RESULT, _USER_ERROR, _FAILURE = b"0", b"1", b"2"

#: What opens models in processes of their own. Imports take nine tenths of the time until such a
#: process is ready, and are done once for all. None of them starts a thread: onnxruntime does.
_IMPORTED = (
    "onnx",
    *(f"asterism.models.formats.{name}" for name in ("onnx", "litert")),
    "asterism.models.classifier",
    "asterism.models.recurrent.opening",
    "asterism.models.tensor_models.subjects",
    "asterism.models.signatures.reading",
    "asterism.models.tensor_models.trial",
)

Arrays = Sequence[NDArray[Any]]

#: An opened model in its process: facts about it, and the function that answers to arrays.
Served = tuple[dict[str, Any], Callable[[Arrays], Arrays]]


class ModelCrashError(UserError):
    """The model ended its process, or raised an error of its own."""


class ModelHangError(UserError):
    """The model did not answer in time, now or in an earlier call; it is not called again."""


class IsolatedModel:
    """A model file in processes of its own, which answers to arrays with arrays.

    Threads that ask at the same time get a process each. After a crash the next call starts a new
    process. After a hang none is started any more: the call that hung would hang again, and each
    costs the whole limit. The processes end with the object, and with this process; use it as a
    context, or ``close`` it.

    Args:
        path: the model file, for messages.
        open_model: opens the model in the other process. A function at the top of a module.
        arguments: its arguments, JSON values.
        arrays: its last arguments.
        patience: seconds for a call; None for :data:`PATIENCE_S`.
        forked: whether processes are forked where that is safe, from one that stays at hand.

    Attributes:
        name: the file's name.
        facts: about the model, from its process.

    Raises:
        ModelCrashError: opening the file ended the process.
        ModelHangError: opening the file took too long.
        UserError: the file cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        open_model: Callable[..., Served],
        arguments: Sequence[Any],
        arrays: Arrays = (),
        patience: float | None = None,
        *,
        forked: bool = True,
    ) -> None:
        self.name, self._path = path.name, path
        self._stated_patience = patience
        self._opening = [str(path), name_function(open_model), list(arguments)]
        self._arrays = arrays
        self._forked, self._hung = forked, ""
        self._workers: list[WorkerProcess] = []
        self._idle: LifoQueue[WorkerProcess] = LifoQueue()
        weakref.finalize(self, _stop, self._workers)
        with self._worker() as worker:
            self.facts = self._start(worker)

    @property
    def pid(self) -> int | None:
        """Its first process, None where it has ended."""
        return self._workers[0].pid

    @property
    def _patience(self) -> float:
        return PATIENCE_S if self._stated_patience is None else self._stated_patience

    def ask(self, arrays: Arrays) -> list[NDArray[Any]]:
        """The model's answer to arrays, as read-only arrays.

        Raises:
            ModelCrashError: on these arrays the model ended its process, or raised an error.
            ModelHangError: it did not answer in time, now or in an earlier call.
        """
        if self._hung:
            raise ModelHangError(self._hung)
        with self._worker() as worker:
            if worker.pid is None:
                self._start(worker)
            return self._exchange(worker, arrays)

    def close(self) -> None:
        """End the processes."""
        _stop(self._workers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _worker(self) -> Iterator[WorkerProcess]:
        """A process that no other thread asks in the block; it may have to be started."""
        try:
            worker = self._idle.get_nowait()
        except Empty:
            forks = fork_server(os.getpid()) if self._forked else None
            worker = WorkerProcess(serve, self._opening, forks=forks)
            self._workers.append(worker)
        try:
            yield worker
        finally:
            self._idle.put(worker)

    def _start(self, worker: WorkerProcess) -> dict[str, Any]:
        worker.start_anyhow()
        try:
            (answer,) = self._exchange(worker, self._arrays)
        except BaseException:
            worker.stop()
            raise
        facts: dict[str, Any] = json.loads(answer.tobytes())
        return facts

    def _exchange(self, worker: WorkerProcess, arrays: Arrays) -> list[NDArray[Any]]:
        """Send a request and wait for the answer."""
        limits = WorkerLimits(self._patience)
        try:
            with suppress(OSError):  # it has died: what comes next says how
                worker.send(*_messages(arrays), limits=limits)
            kind = bytes(worker.receive(limits))
            answer = _arrays(worker.receive_more)
        except WorkerDied as death:
            raise self._error_of_death(death) from None
        if kind == _RESULT:
            return answer
        raise {_USER_ERROR: UserError, _FAILURE: ModelCrashError}[kind](
            answer[0].tobytes().decode()
        )

    def _error_of_death(self, death: WorkerDied) -> UserError:
        """The end of the process as an error."""
        if death.how == "hang":
            self._hung = (
                f"{self._path} did not answer within {self._patience:.0f} s: it hangs, and is "
                "not called again"
            )
            return ModelHangError(self._hung)
        last = next((line.strip() for line in reversed(death.said) if line.strip()), "no message")
        return ModelCrashError(
            f"{self._path} crashed its interpreter: {death.ended}, last message: {last[:200]}"
        )


@cache
def fork_server(_process: int) -> ForkServer | None:
    """What forks the processes of the models that a process opens; None where that is not safe."""
    if sys.platform != "linux":
        return None
    one_thread = {"OPENBLAS_NUM_THREADS": "1"}
    return ForkServer("opens model files", import_for_models, [], one_thread)


def import_for_models() -> str:
    """Import what the processes of models need, where that starts no thread."""
    for module in _IMPORTED:
        with suppress(ImportError):  # whose process tells what it lacks
            importlib.import_module(module)
    return ""


def _stop(workers: Sequence[WorkerProcess]) -> None:
    for worker in workers:
        worker.stop()


def serve(channel: Channel, path: str, opener: str, arguments: Sequence[Any]) -> None:
    """Be the process of a model: open the file by the first arrays, then answer to all others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer: Callable[[Arrays], Arrays] | None = None
    for form in channel.requests():
        arrays = _arrays(channel.receive, form)
        try:
            if answer is None:
                machine.limit_memory()
                facts, answer = find_function(opener)(*arguments, *arrays)
                messages = _messages([_text(json.dumps(facts))])
            else:
                messages = _messages(answer(arrays))
        except Exception as error:  # the other side decides what it means
            channel.send(*_error_answer(error, path))
            if answer is None:
                return
        else:
            channel.send(_RESULT, *messages)


def _error_answer(error: Exception, path: str) -> list[Bytes]:
    """An error as an answer: its kind and its message."""
    if isinstance(error, UserError):
        return [_USER_ERROR, *_messages([_text(str(error))])]
    return [_FAILURE, *_messages([_text(f"{path} failed: {error}")])]


def _text(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def _messages(arrays: Arrays) -> list[Bytes]:
    """Arrays as messages: their dtypes and shapes, then the bytes of each."""
    forms = json.dumps([(a.dtype.str, a.shape) for a in arrays]).encode()
    return [forms, *(np.ascontiguousarray(a).reshape(-1).view(np.uint8).data for a in arrays)]


def _arrays(receive: Callable[[], memoryview], form: Bytes | None = None) -> list[NDArray[Any]]:
    """The arrays that :func:`_messages` has made messages of, the first of which may be known."""
    forms = json.loads(bytes(receive() if form is None else form))
    return [np.frombuffer(receive(), dtype).reshape(shape) for dtype, shape in forms]
