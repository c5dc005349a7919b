"""Interrupting a run: nothing is left half written, and no stage outlives it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import psutil


@contextmanager
def interrupt_postponed() -> Iterator[Callable[[], None]]:
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
def terminated_as_by_ctrl_c() -> Iterator[None]:
    """While the block runs, SIGTERM interrupts this process and its stages as Ctrl-C does.

    Ctrl-C reaches a whole process group, SIGTERM one process: the stages would outlive it, and go
    on writing into the workspace.
    """
    before = signal.signal(signal.SIGTERM, _interrupt_all)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt_all(_signal: int, _frame: FrameType | None) -> None:
    here = psutil.Process()
    for process in [*here.children(recursive=True), here]:
        with suppress(ProcessLookupError):  # it has ended by itself
            if os.getpgid(process.pid) == os.getpgrp():
                os.kill(process.pid, signal.SIGINT)


def ignore_interrupts() -> None:
    """Let this process ignore SIGINT, but not the commands that it will run."""
    signal.signal(signal.SIGINT, lambda *_: None)


@contextmanager
def interruptible() -> Iterator[None]:
    """While the block runs, SIGINT raises KeyboardInterrupt in a process that ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
