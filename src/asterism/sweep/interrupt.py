"""Interrupting a run: nothing is left half written, and no stage outlives it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from types import FrameType

import psutil

from asterism.core.files.interrupts import INTERRUPTED, handle_interrupt
from asterism.core.messages.terminal import escape_streams

#: Seconds after which a process that has lost its run is told once more.
_AGAIN_SECONDS = 0.5


@contextmanager
def postpone_sigint() -> Iterator[Callable[[], None]]:
    """While the block runs, SIGINT is noted and raised at its end.

    DVC overwrites files in place, the one with its locks several times for each stage. An
    interrupt in between leaves half a file, which no later command can read.

    Yields:
        Raises what has been noted so far: to be called where the block can be left.

    Raises:
        KeyboardInterrupt: at the end, where the block has raised nothing itself.
    """
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: noted.append(number))

    def raise_noted() -> None:
        if noted:
            raise KeyboardInterrupt

    try:
        yield raise_noted
    finally:
        signal.signal(signal.SIGINT, before)
    raise_noted()


@contextmanager
def treat_sigterm_as_sigint() -> Iterator[None]:
    """While the block runs, SIGTERM interrupts this process and its stages as Ctrl-C does.

    Ctrl-C reaches a whole process group, SIGTERM one process: the stages would outlive it, and go
    on writing into the workspace. Where SIGTERM reaches the group too, stages fail of it: that is
    the interrupt, and no failure. SIGINT counts also where a shell has set it to be ignored.

    Raises:
        KeyboardInterrupt: the block was interrupted, or failed after SIGTERM.
    """
    terminated: list[int] = []

    def terminate(number: int, _frame: FrameType | None) -> None:
        terminated.append(number)
        _interrupt_all()

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        with interruptible():
            yield
    except Exception:
        if not terminated:
            raise
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt_all(*_: object) -> None:
    """Send SIGINT to this process and to those below it, as far as Ctrl-C would reach them."""
    here = psutil.Process()
    for process in [*here.children(recursive=True), here]:
        with suppress(ProcessLookupError):  # it has ended by itself
            if os.getpgid(process.pid) == os.getpgrp():
                os.kill(process.pid, signal.SIGINT)


def serve_run(run: Connection) -> None:
    """Prepare a process that runs stages for another: it minds SIGINT in a stage only.

    And it ends with the run. One that is killed tells nobody, so a thread watches: it interrupts
    the stage, once, and then the process itself until it is between stages.

    Args:
        run: the reading end of a pipe of which the run alone has the other end.
    """

    def between_stages(_signal: int, _frame: FrameType | None) -> None:
        if run.poll():
            os._exit(INTERRUPTED)

    def watch() -> None:
        run.poll(None)
        _interrupt_all()
        while True:
            time.sleep(_AGAIN_SECONDS)
            os.kill(os.getpid(), signal.SIGINT)

    escape_streams()
    signal.signal(signal.SIGINT, between_stages)
    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def interruptible() -> Iterator[None]:
    """While the block runs, SIGINT raises KeyboardInterrupt, whatever it does otherwise."""
    before = signal.getsignal(signal.SIGINT)
    if before is not handle_interrupt:  # of the command, which raises it too
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
