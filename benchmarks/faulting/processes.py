"""All processes that one command has started, however deep and in whatever session."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

#: A variable of the environment, by whose value the processes of a command are known.
MARKER = "ASTERISM_FAULTS_MARKER"

_POLL_SECONDS = 0.02


class Run:
    """A command that runs, and its output in a file.

    Args:
        command: the command.
        folder: where it runs.
        environment: all of its environment; :data:`MARKER` is added.
        output: where standard output and error go.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path
    ) -> None:
        self._marker = f"{os.getpid()}-{time.monotonic_ns()}"
        self._output = output
        with output.open("wb") as file:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**environment, MARKER: self._marker},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.begun = time.monotonic()

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    @property
    def pid(self) -> int:
        """The command's own process, which leads a group."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.poll()

    def wait(self, seconds: float) -> int | None:
        """Its exit status; None where it still runs after so many seconds."""
        try:
            return self._process.wait(max(seconds, 0))
        except subprocess.TimeoutExpired:
            return None

    def wait_for(self, text: str | None, seconds: float) -> bool:
        """Wait until it has printed a text (None: no wait). False where it has ended before."""
        begun = time.monotonic()
        while text is not None and text not in self.output:
            if self.status is not None or time.monotonic() - begun > seconds:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def processes(self) -> list[psutil.Process]:
        """Its processes that are alive, the command's own first."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                marked = process.environ().get(MARKER) == self._marker
                if marked and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return sorted(found, key=lambda process: process.pid != self._process.pid)

    def send(self, number: signal.Signals, to: Sequence[psutil.Process]) -> None:
        """Send a signal to processes, in this order."""
        for process in to:
            with suppress(psutil.Error):
                process.send_signal(number)

    def kill_everything(self) -> None:
        """Leave none of its processes, also those that are started meanwhile."""
        while found := self.processes():
            self.send(signal.SIGKILL, found)
            self.wait(0)
            time.sleep(_POLL_SECONDS)
        self.wait(10)

    def left(self, seconds: float) -> list[str]:
        """Commands of its processes that are alive after so many seconds of grace."""
        begun = time.monotonic()
        self.wait(seconds)
        while (found := self.processes()) and time.monotonic() - begun < seconds:
            time.sleep(0.1)
        return [_told(process) for process in found]


def _told(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())[-120:] or process.name()
    except psutil.Error:
        return str(process.pid)


def is_stage(process: psutil.Process) -> bool:
    """Whether it is ``python stages …``."""
    with suppress(psutil.Error):
        return process.cmdline()[1:2] == ["stages"]
    return False


def is_below_stage(process: psutil.Process) -> bool:
    """Whether a stage has started it, or a process that a stage has started."""
    with suppress(psutil.Error):
        return any(map(is_stage, process.parents()))
    return False
