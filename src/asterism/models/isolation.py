"""Models in processes of their own: one that crashes its interpreter takes nothing along.

A damaged or hostile model file can end a process (a segmentation fault in native code, a failed
check, memory), at opening or at the one input that reaches the defect. In a process of its own
that is an answer like any other: the caller learns that the model crashed, and why.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

import numpy as np

from asterism.core import machine
from asterism.core.errors import UserError
from asterism.models.classifier import Images, Probabilities, open_classifier, require_images
from asterism.models.preprocessing import PreprocessingParams

#: A call that takes longer is taken for a model that hangs.
_PATIENCE_S = 600.0

#: What kind of answer follows: a result, an error of the user's, an error of the model's own.
_RESULT, _USER_ERROR, _FAILURE = b"0", b"1", b"2"


class ModelCrashError(UserError):
    """The model ended its process, raised an error of its own, or never answered."""


class IsolatedClassifier:
    """A :class:`~asterism.models.classifier.Classifier` in a process of its own.

    After a crash the next call starts a new process. Use it as a context, or ``close`` it.

    Args:
        path: the model file.
        preprocessing: what happens to the uint8 images first.

    Raises:
        ModelCrashError: opening the file ended the process.
        UserError: the file cannot be opened.
    """

    def __init__(self, path: Path, preprocessing: PreprocessingParams) -> None:
        self._path = path
        self._preprocessing = preprocessing
        self._process: Any = None
        self._connection: Connection
        descriptor, complaints = tempfile.mkstemp(prefix="asterism-model-")
        os.close(descriptor)
        self._complaints = Path(complaints)
        self.name = path.name
        try:
            facts = self._start()
        except BaseException:
            self.close()
            raise
        height, width, channels = facts["input_shape"]
        self.input_shape: tuple[int, int, int] = (height, width, channels)
        self.classes = int(facts["classes"])
        self.notes = tuple(facts["notes"])
        #: Whether the file ends in logits, so that a softmax was added.
        self.logits = bool(facts["logits"])

    def predict(self, images: Images) -> Probabilities:
        """See :meth:`asterism.models.classifier.Classifier.predict`.

        Raises:
            ModelCrashError: on these images the model ended its process, or raised an error.
        """
        require_images(images, self.input_shape, self.name)
        if self._process is None:
            self._start()
        answer = self._exchange(lambda: self._send(images))
        return np.frombuffer(answer, np.float32).reshape(len(images), self.classes)

    def close(self) -> None:
        """End the process."""
        self._end()
        self._complaints.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> dict[str, Any]:
        context = multiprocessing.get_context("spawn")
        self._connection, far_end = context.Pipe()
        process = context.Process(
            target=_serve,
            args=(far_end, self._path, self._preprocessing, self._complaints),
            daemon=True,
        )
        process.start()
        self._process = process
        far_end.close()
        try:
            facts: dict[str, Any] = json.loads(self._exchange(lambda: None))
        except UserError:
            self._end()
            raise
        return facts

    def _send(self, images: Images) -> None:
        self._connection.send_bytes(json.dumps(images.shape).encode())
        self._connection.send_bytes(images.tobytes())

    def _exchange(self, send: Callable[[], None]) -> bytes:
        """Send a request and wait for the answer."""
        try:
            send()
            if not self._connection.poll(_PATIENCE_S):
                self._end()
                raise ModelCrashError(f"{self._path} did not answer within {_PATIENCE_S:.0f} s")
            kind, answer = self._connection.recv_bytes(), self._connection.recv_bytes()
        except (EOFError, OSError):
            reason = self._post_mortem()
            self._end()
            raise ModelCrashError(f"{self._path} crashed its interpreter: {reason}") from None
        if kind == _RESULT:
            return answer
        raise {_USER_ERROR: UserError, _FAILURE: ModelCrashError}[kind](answer.decode())

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


def _serve(
    connection: Connection, path: Path, preprocessing: PreprocessingParams, complaints: Path
) -> None:
    """The process: open the file, then answer until the other end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with complaints.open("wb") as file:
        os.dup2(file.fileno(), 2)  # what native code says before it dies
    machine.limit_memory()
    try:
        model = open_classifier(path, preprocessing)
        facts = {
            "input_shape": model.input_shape,
            "classes": model.classes,
            "notes": model.notes,
            "logits": model.logits,
        }
    except Exception as error:  # the other side decides what it means
        _answer(connection, *_told(error, path))
        return
    _answer(connection, _RESULT, json.dumps(facts).encode())
    with suppress(EOFError):
        while True:
            shape = json.loads(connection.recv_bytes())
            images = np.frombuffer(connection.recv_bytes(), np.uint8).reshape(shape)
            try:
                outputs = np.ascontiguousarray(model.predict(images)).tobytes()
            except Exception as error:  # of these images: the model answers about others
                _answer(connection, *_told(error, path))
            else:
                _answer(connection, _RESULT, outputs)


def _told(error: Exception, path: Path) -> tuple[bytes, bytes]:
    """An error as an answer: its kind and its message."""
    if isinstance(error, UserError):
        return _USER_ERROR, str(error).encode()
    return _FAILURE, f"{path} failed: {error}".encode()


def _answer(connection: Connection, kind: bytes, content: bytes) -> None:
    connection.send_bytes(kind)
    connection.send_bytes(content)
