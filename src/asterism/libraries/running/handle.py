"""The parent's end of a worker: requests with a time and a memory limit, and restarts."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import tempfile
import time
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from typing import Any

import psutil

from asterism.core.messages.console import get_logger
from asterism.core.workers.processes import Patience
from asterism.libraries.running.launch import (
    START_SECONDS,
    KilledError,
    LaunchError,
    Nursery,
    Process,
    spawn,
)
from asterism.libraries.running.outcomes import steady

log = get_logger(__name__)

_LOG_LINES = 8
_LOOK_SECONDS = 0.1

#: Seconds in which a worker that has closed its end, as a crash does, has ended.
_END_SECONDS = 30.0


@dataclass(frozen=True)
class Limits:
    """Ceilings that no sound step comes near, so that findings do not depend on timing.

    Args:
        seconds: a step that takes longer hangs.
        memory_mb: a worker whose resident memory grows by more than this in a step blew up.
    """

    seconds: float
    memory_mb: int


class Handle:
    """A long-lived worker process. It is started when it is first needed and after it died.

    Args:
        library: name in :data:`LIBRARIES`.
        limits: ceilings of a step.
        environment: more variables for the process.
        nursery: forks the process; None where it is started anew.
    """

    def __init__(
        self,
        library: str,
        limits: Limits,
        environment: dict[str, str] | None = None,
        nursery: Nursery | None = None,
    ) -> None:
        self.library = library
        self.broken: str | None = None
        #: Time spent by step, for logs and benchmarks.
        self.seconds: dict[str, float] = {}
        #: What the worker's meter of branches has told, where it has one.
        self.news: list[dict[str, Any]] = []
        self._limits = limits
        self._environment = environment or {}
        self._nursery = nursery
        self._process: Process | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the handle)
        self._buffer = b""
        self._given_up = False
        self._was_killed = False

    def start(self) -> bool:
        """Whether the worker runs; the first answer says so, or why not.

        One that is killed from outside meanwhile is started once more.

        Raises:
            CancelledError: :meth:`give_up` was called: none is started any more.
        """
        if self._given_up:
            raise CancelledError
        if self._process is not None:
            return True
        if self.broken is not None:
            return False
        self.broken = self._refusal()
        if self._was_killed:
            self.broken = self._refusal()
        return self.broken is None

    def _refusal(self) -> str | None:
        """Start the worker: why it does not, None where it runs."""
        self._was_killed = False
        try:
            self._launch()
        except LaunchError as error:
            self._was_killed = isinstance(error, KilledError)
            return str(error)
        answer = self._receive(Limits(START_SECONDS, 1 << 20))
        if answer["status"] == "ready":
            return None
        self.stop()
        return str(answer.get("message", answer["status"]))

    def _launch(self) -> None:
        request, self._requests = os.pipe()
        self._answers, answer = os.pipe()
        self._buffer = b""
        try:
            ends = (request, answer, self._log.fileno())
            if self._nursery is not None:
                self._process = self._nursery.fork(self.library, *ends)
            else:
                self._process = spawn(self.library, *ends, self._environment)
        except LaunchError:
            os.close(self._requests)
            os.close(self._answers)
            raise
        finally:
            os.close(request)
            os.close(answer)

    def ask(self, request: dict[str, Any], seconds: float | None = None) -> dict[str, Any]:
        """The answer to a request; a worker that dies, hangs or blows up is an answer too.

        One that is killed from outside, as by a system short of memory, is asked once more.

        Args:
            request: what to do.
            seconds: a limit in place of the handle's own.

        Raises:
            CancelledError: :meth:`give_up` was called meanwhile.
        """
        answer = self._ask(request, seconds)
        return self._ask(request, seconds) if self._was_killed else answer

    def _ask(self, request: dict[str, Any], seconds: float | None) -> dict[str, Any]:
        if not self.start():
            return {"status": "blocked", "stage": "compile", "message": self.broken or ""}
        try:
            os.write(self._requests, json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            self.stop()
            return self._ask(request, seconds)
        self._was_killed = False
        started = time.monotonic()
        limits = self._limits if seconds is None else replace(self._limits, seconds=seconds)
        answer = self._receive(limits)
        self.seconds[request["route"]] = (
            self.seconds.get(request["route"], 0.0) + time.monotonic() - started
        )
        if "news" in answer:
            self.news.append(answer.pop("news"))
        return {"stage": "convert" if request["step"] == "convert" else "run", **answer}

    def _receive(self, limits: Limits) -> dict[str, Any]:
        assert self._process is not None
        patience = Patience(limits.seconds)
        # The process appears a moment before its memory can be read.
        watched = psutil.Process(self._process.pid)
        ceiling = watched.memory_info().rss + limits.memory_mb * 2**20
        while b"\n" not in self._buffer:
            if self._given_up:
                raise CancelledError
            ready, _, _ = select.select([self._answers], [], [], _LOOK_SECONDS)
            if ready:
                data = os.read(self._answers, 1 << 16)
                if not data:
                    return self._died("crash")
                self._buffer += data
                continue
            if patience.is_over():
                return self._died("hang")
            if _resident(watched) > ceiling:
                return self._died("memory")
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _died(self, status: str) -> dict[str, Any]:
        assert self._process is not None
        if status == "crash":
            ended = self._await_end()
            code = self._process.wait()
            self._was_killed = ended and code == -signal.SIGKILL
            message = f"{signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        else:
            message = f"stopped after its {status} limit"
        tail = self._tail()
        self.stop()
        log.warning("worker restarts", library=self.library, after=status, reason=message)
        exception = message if status == "crash" else ""
        return {"status": status, "exception": exception, "message": tail}

    def _await_end(self) -> bool:
        """Wait for a process that answers no more; False where it hung, and is killed here."""
        assert self._process is not None
        patience = Patience(_END_SECONDS)
        with contextlib.suppress(psutil.NoSuchProcess):
            ending = psutil.Process(self._process.pid)
            while ending.status() != psutil.STATUS_ZOMBIE:
                if patience.is_over():
                    os.killpg(self._process.pid, signal.SIGKILL)
                    return False
                time.sleep(0.01)
        return True

    def _tail(self) -> str:
        self._log.seek(0, os.SEEK_END)
        size = self._log.tell()
        self._log.seek(max(0, size - 4000))
        lines = self._log.read().decode(errors="replace").splitlines()
        return steady("\n".join(lines[-_LOG_LINES:]), end=True)

    def give_up(self) -> None:
        """Let another thread wait for no answer any more; :meth:`stop` is left to do."""
        self._given_up = True
        if self._nursery is not None:
            self._nursery.give_up()

    def stop(self) -> None:
        """End the process and its children."""
        if self._process is None:
            return
        os.close(self._requests)
        os.close(self._answers)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
