"""The parent's end of a worker process: requests with limits, and how the worker died."""

from __future__ import annotations

import os
import select
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psutil

from asterism.core.workers.channel import Bytes, Channel
from asterism.core.workers.processes import Countdown
from asterism.core.workers.starting import (
    OWN_INTERPRETER,
    ForkServer,
    Interpreter,
    LaunchError,
    Process,
    spawn,
)

#: Milliseconds between two looks at the clock and at the worker's memory.
_LOOK_MS = 100

#: Seconds in which a worker that has closed its end, as a crash does, has ended.
_END_SECONDS = 30.0

#: What is kept of the latest that a worker has printed: an abort's words and the stack behind them.
_KEPT_BYTES = 20_000


@dataclass(frozen=True)
class WorkerLimits:
    """Ceilings that no sound request comes near, so that results do not depend on timing.

    Args:
        seconds: a worker that takes longer hangs.
        memory_mb: a worker whose resident memory grows by more than this meanwhile blew up; None
            for no limit.
    """

    seconds: float
    memory_mb: int | None = None


class WorkerDied(Exception):  # noqa: N818  (a result, which the caller tells in its own words)
    """A worker crashed, or was ended because it reached a limit.

    Attributes:
        how: ``crash``, ``hang`` or ``memory``.
        ended: of a crash the name of the signal, or the exit status; else which limit it reached.
        killed: whether somebody else has ended it, as a system short of memory does.
        said: the lines that it printed last.
    """

    def __init__(self, how: str, ended: str, killed: bool, said: Sequence[str]) -> None:
        super().__init__(f"{how}: {ended}")
        self.how, self.ended, self.killed, self.said = how, ended, killed, list(said)


class WorkerProcess:
    """A process that calls a function with its end of a channel, and answers there.

    It is started by :meth:`start`, also again after it died. It leads a process group of its own,
    and ends with this process.

    Args:
        entry: a function at the top of a module, see
            :func:`~asterism.core.workers.entry.run_worker`.
        arguments: of the function after the channel, JSON values.
        environment: variables beside those of this process.
        forks: forks the process; None where it is started anew.
        interpreter: the Python that a process runs in that is started anew.
    """

    def __init__(
        self,
        entry: Callable[..., None],
        arguments: Sequence[Any] = (),
        environment: Mapping[str, str] | None = None,
        forks: ForkServer | None = None,
        *,
        interpreter: Interpreter = OWN_INTERPRETER,
    ) -> None:
        self._entry, self._arguments = entry, arguments
        self._interpreter = interpreter
        self._environment = environment or {}
        self._forks = forks
        self._process: Process | None = None
        self._channel: Channel
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (as long as this object)
        self._given_up = False
        self._countdown = Countdown(0.0)
        self._watched: psutil.Process
        self._ceiling: int | None = None

    @property
    def pid(self) -> int | None:
        """Its identity, None where it does not run."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process.

        Raises:
            LaunchError: it cannot be forked.
        """
        ours, theirs = socket.socketpair()
        self._log.seek(0)
        self._log.truncate()
        log, fork = self._log.fileno(), self._forks
        try:
            with theirs:
                end = theirs.fileno()
                self._process = (
                    fork.fork(self._entry, self._arguments, end, log)
                    if fork is not None
                    else spawn(
                        self._entry,
                        self._arguments,
                        end,
                        self._environment,
                        log,
                        self._interpreter,
                    )
                )
        except BaseException:
            ours.close()
            raise
        self._channel = Channel(ours, self._wait)
        self._poll = {receives: select.poll() for receives in (False, True)}
        for receives, poll in self._poll.items():
            poll.register(ours, select.POLLIN if receives else select.POLLOUT)

    def start_anyhow(self) -> None:
        """Start the process, anew from now on where it cannot be forked."""
        try:
            self.start()
        except LaunchError:  # as where an import starts a thread
            self._forks = None
            self.start()

    def send(self, *messages: Bytes, limits: WorkerLimits) -> None:
        """Send messages.

        Raises:
            WorkerDied: it does not read them.
            CancelledError: :meth:`give_up` was called.
            OSError: it has died before.
        """
        self._begin(WorkerLimits(limits.seconds))
        self._channel.send(*messages)

    def receive(self, limits: WorkerLimits) -> memoryview:
        """The next message of the worker.

        Raises:
            WorkerDied: it died, now or before, or reached a limit.
            CancelledError: :meth:`give_up` was called.
        """
        self._begin(limits)
        return self.receive_more()

    def receive_more(self) -> memoryview:
        """One more message, within the limits that began with the latest other call."""
        try:
            return self._channel.receive()
        except (EOFError, OSError):
            raise self._died("crash") from None

    def give_up(self) -> None:
        """Let another thread wait for no answer any more; :meth:`stop` is left to do."""
        self._given_up = True
        if self._forks is not None:
            self._forks.give_up()

    def stop(self) -> None:
        """End the process and its children."""
        if self._process is None:
            return
        self._channel.close()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def _begin(self, limits: WorkerLimits) -> None:
        """From now on these limits count."""
        assert self._process is not None
        self._countdown, self._ceiling = Countdown(limits.seconds), None
        if limits.memory_mb is not None:
            with suppress(psutil.NoSuchProcess):  # it died before: its end of the channel says so
                self._watched = psutil.Process(self._process.pid)
                self._ceiling = _resident(self._watched) + limits.memory_mb * 2**20

    def _wait(self, receives: bool) -> None:
        poll = self._poll[receives].poll
        while True:
            if self._given_up:
                raise CancelledError
            if poll(_LOOK_MS):
                return
            if self._countdown.is_over():
                raise self._died("hang")
            if self._ceiling is not None and _resident(self._watched) > self._ceiling:
                raise self._died("memory")

    def _died(self, how: str) -> WorkerDied:
        """End what is left of the process, and tell how it died."""
        assert self._process is not None
        killed, ended = False, f"stopped after its {how} limit"
        if how == "crash":
            by_itself = self._await_end()
            status = self._process.wait()
            killed = by_itself and status == -signal.SIGKILL
            ended = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        said = self._said()
        self.stop()
        return WorkerDied(how, ended, killed, said)

    def _await_end(self) -> bool:
        """Wait for a process that answers no more; False where it hung, and is killed here."""
        assert self._process is not None
        countdown = Countdown(_END_SECONDS)
        with suppress(psutil.NoSuchProcess):
            ending = psutil.Process(self._process.pid)
            while ending.status() != psutil.STATUS_ZOMBIE:
                if countdown.is_over():
                    os.killpg(self._process.pid, signal.SIGKILL)
                    return False
                time.sleep(0.01)
        return True

    def _said(self) -> list[str]:
        size = os.fstat(self._log.fileno()).st_size
        kept = os.pread(self._log.fileno(), _KEPT_BYTES, max(0, size - _KEPT_BYTES))
        return kept.decode(errors="replace").splitlines()


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
