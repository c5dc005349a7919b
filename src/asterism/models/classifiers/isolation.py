"""Models in processes of their own, so that one that crashes or hangs harms no other work.

A damaged or hostile model file can end a process (a segmentation fault in native code, a failed
check, memory), at opening or at the one input that reaches the defect. In a process of its own
that is an answer like any other: the caller learns that the model crashed, and why. A model that
never answers is ended after a time limit, and is not started again.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.core.workers.processes import Patience, killed_with_parent, started_to_last
from asterism.models.classifiers.classifier import (
    Images,
    Probabilities,
    open_classifier,
    require_images,
)
from asterism.models.keras_models.preprocessing import PreprocessingParams

#: Seconds for a call, and for opening the file: a model that takes longer hangs.
PATIENCE_S = 600.0

#: Seconds between two looks at the clock.
_LOOK_SECONDS = 0.5

#: What kind of answer follows: a result, an error of the user's, an error of the model's own.
_RESULT, _USER_ERROR, _FAILURE = b"0", b"1", b"2"

Arrays = Sequence[NDArray[Any]]

#: An opened model in its process: facts about it, and the function that answers to arrays.
Served = tuple[dict[str, Any], Callable[[Arrays], Arrays]]


class ModelCrashError(UserError):
    """The model ended its process, or raised an error of its own."""


class ModelHangError(UserError):
    """The model did not answer in time, now or in an earlier call; it is not called again."""


class IsolatedModel:
    """A model file in a process of its own, which answers to arrays with arrays.

    After a crash the next call starts a new process. After a hang none is started any more: the
    call that hung would hang again, and each costs the whole limit. The process ends with the
    object, and with this process.

    Args:
        path: the model file, for messages.
        open_model: opens the model in the other process. A function at the top of a module.
        arguments: its arguments, which must be picklable.

    Attributes:
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
        arguments: tuple[Any, ...],
    ) -> None:
        self._path = path
        self._open = (open_model, arguments)
        self._process: Any = None
        self._connection: Connection
        self._hung = ""
        descriptor, complaints = tempfile.mkstemp(prefix="asterism-model-")
        os.close(descriptor)
        self._complaints = Path(complaints)
        self._forget = weakref.finalize(self, self._complaints.unlink, missing_ok=True)
        try:
            self.facts = self._start()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int | None:
        """Its process, None where it has ended."""
        return None if self._process is None else int(self._process.pid)

    def ask(self, arrays: Arrays) -> list[NDArray[Any]]:
        """The model's answer to arrays, as read-only arrays.

        Raises:
            ModelCrashError: on these arrays the model ended its process, or raised an error.
            ModelHangError: it did not answer in time.
        """
        if self._hung:
            raise ModelHangError(self._hung)
        if self._process is None:
            self._start()
        return self._exchange(lambda: _send(self._connection, arrays))

    def close(self) -> None:
        """End the process."""
        self._end()
        self._forget()

    def _start(self) -> dict[str, Any]:
        context = multiprocessing.get_context("spawn")
        self._connection, far_end = context.Pipe()
        process = context.Process(
            target=_serve,
            args=(far_end, self._path, *self._open, self._complaints),
            daemon=True,
        )
        started_to_last(process.start)
        self._process = process
        far_end.close()
        try:
            (answer,) = self._exchange(lambda: None)
        except UserError:
            self._end()
            raise
        facts: dict[str, Any] = json.loads(answer.tobytes())
        return facts

    def _exchange(self, send: Callable[[], None]) -> list[NDArray[Any]]:
        """Send a request and wait for the answer."""
        try:
            send()
            patience = Patience(PATIENCE_S)
            while not self._connection.poll(_LOOK_SECONDS):
                if patience.is_over():
                    self._give_up()
            kind, answer = self._connection.recv_bytes(), _receive(self._connection)
        except (EOFError, OSError):
            reason = self._post_mortem()
            self._end()
            raise ModelCrashError(f"{self._path} crashed its interpreter: {reason}") from None
        if kind == _RESULT:
            return answer
        raise {_USER_ERROR: UserError, _FAILURE: ModelCrashError}[kind](
            answer[0].tobytes().decode()
        )

    def _give_up(self) -> None:
        self._end()
        self._hung = (
            f"{self._path} did not answer within {PATIENCE_S:.0f} s: it hangs, and is "
            "not called again"
        )
        raise ModelHangError(self._hung)

    def _post_mortem(self) -> str:
        self._process.join(10)
        code = self._process.exitcode
        ended = signal.Signals(-code).name if code is not None and code < 0 else f"exit {code}"
        lines = self._complaints.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "no message")
        return f"{ended}, last message: {last[:200]}"

    def _end(self) -> None:
        if self._process is not None:
            self._connection.close()
            self._process.kill()
            self._process.join()
            self._process = None


class IsolatedClassifier:
    """A :class:`~asterism.models.classifiers.classifier.Classifier` in a process of its own.

    See :class:`IsolatedModel`. Use it as a context, or ``close`` it.

    Args:
        path: the model file.
        preprocessing: what happens to the uint8 images first.

    Raises:
        ModelCrashError: opening the file ended the process.
        ModelHangError: opening the file took too long.
        UserError: the file cannot be opened.
    """

    def __init__(self, path: Path, preprocessing: PreprocessingParams) -> None:
        self._model = IsolatedModel(path, _open_classifier, (path, preprocessing))
        self.name = path.name
        facts = self._model.facts
        height, width, channels = facts["input_shape"]
        self.input_shape: tuple[int, int, int] = (height, width, channels)
        self.classes = int(facts["classes"])
        self.notes = tuple(facts["notes"])
        #: Whether the file ends in logits, so that a softmax was added.
        self.logits = bool(facts["logits"])

    @property
    def pid(self) -> int | None:
        """Its process, None where it has ended."""
        return self._model.pid

    def predict(self, images: Images) -> Probabilities:
        """See :meth:`asterism.models.classifiers.classifier.Classifier.predict`.

        Raises:
            ModelCrashError: on these images the model ended its process, or raised an error.
            ModelHangError: it did not answer in time.
        """
        require_images(images, self.input_shape, self.name)
        (probabilities,) = self._model.ask([images])
        return probabilities

    def close(self) -> None:
        """End the process."""
        self._model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open_classifier(path: Path, preprocessing: PreprocessingParams) -> Served:
    model = open_classifier(path, preprocessing)
    facts = {
        "input_shape": model.input_shape,
        "classes": model.classes,
        "notes": model.notes,
        "logits": model.logits,
    }
    return facts, lambda arrays: [model.predict(arrays[0])]


def _serve(
    connection: Connection,
    path: Path,
    open_model: Callable[..., Served],
    arguments: tuple[Any, ...],
    complaints: Path,
) -> None:
    """The process: open the file, then answer until the other end closes."""
    parent = multiprocessing.parent_process()
    killed_with_parent(parent.pid if parent is not None else None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with complaints.open("wb") as file:
        os.dup2(file.fileno(), 2)  # what native code says before it dies
    machine.limit_memory()
    try:
        facts, answer = open_model(*arguments)
    except Exception as error:  # the other side decides what it means
        _answer(connection, *_error_answer(error, path))
        return
    _answer(connection, _RESULT, [_text(json.dumps(facts))])
    with suppress(EOFError):
        while True:
            arrays = _receive(connection)
            try:
                outputs = answer(arrays)
            except Exception as error:  # of these arrays: the model answers about others
                _answer(connection, *_error_answer(error, path))
            else:
                _answer(connection, _RESULT, outputs)


def _error_answer(error: Exception, path: Path) -> tuple[bytes, Arrays]:
    """An error as an answer: its kind and its message."""
    if isinstance(error, UserError):
        return _USER_ERROR, [_text(str(error))]
    return _FAILURE, [_text(f"{path} failed: {error}")]


def _text(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def _answer(connection: Connection, kind: bytes, arrays: Arrays) -> None:
    connection.send_bytes(kind)
    _send(connection, arrays)


def _send(connection: Connection, arrays: Arrays) -> None:
    connection.send_bytes(json.dumps([(a.dtype.str, a.shape) for a in arrays]).encode())
    for array in arrays:
        connection.send_bytes(np.ascontiguousarray(array).tobytes())


def _receive(connection: Connection) -> list[NDArray[Any]]:
    forms = json.loads(connection.recv_bytes())
    return [np.frombuffer(connection.recv_bytes(), dtype).reshape(shape) for dtype, shape in forms]
