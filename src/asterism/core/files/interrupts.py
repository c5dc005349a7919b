"""Ending a command on an interrupt, even if a library swallows the exception.

A signal raises KeyboardInterrupt. Libraries catch that (scikit-learn's ``fit`` gives back a
half-trained model), turn it into errors of their own, or lose it in a callback. So the signal is
noted as well. Until the command handles it, the interrupt is raised again, no more results are
moved into place, and the command ends with :data:`INTERRUPTED`.

It is the first module that the command line imports: it imports nothing itself that takes time.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

#: How a command or a stage ends that was interrupted: 128 + SIGINT.
INTERRUPTED = 130

#: Signals that interrupt a command. Ignored ones stay so, but for those that a shell's background
#: jobs ignore.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_KEPT_IGNORED = (signal.SIGHUP,)

#: Files whose code is not interrupted.
_NOT_CUT_SHORT = (f"{os.sep}tempfile.py", "<frozen importlib._bootstrap>")

#: Seconds after which an interrupt that nobody has taken is raised again.
_AGAIN_SECONDS = 0.3


#: Seconds after which a command ends whose main thread is in native code, so that no handler runs.
_STUCK_SECONDS = 10.0


class _Interrupt:
    """What has become of this process' interrupt.

    Attributes:
        is_noted: whether a signal came.
        is_taken: whether somebody has taken the interrupt, and ends in order.
        postponements: blocks now running that may not be interrupted.
    """

    is_noted = is_taken = False
    postponements = 0


def handle_interrupt(_number: int, frame: FrameType | None) -> None:
    """The handler of the signals: note it, and raise KeyboardInterrupt until it is taken."""
    _Interrupt.is_noted = True
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS, _AGAIN_SECONDS)
    is_due = not (_Interrupt.is_taken or _Interrupt.postponements or _is_under_way())
    if is_due and not _may_not_be_cut_short(frame):
        raise KeyboardInterrupt


def _is_under_way() -> bool:
    """Whether code runs that handles the interrupt, such as a ``finally`` that clears up."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _may_not_be_cut_short(frame: FrameType | None) -> bool:
    """Whether the interrupted code would leave a temporary folder that nobody removes, or imports.

    A library in native code that is interrupted while it is imported may crash the process.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_name == "rmtree" or code.co_filename.endswith(_NOT_CUT_SHORT):
            return True
        frame = frame.f_back
    return False


def take_interrupt() -> None:
    """Say that the interrupt is known here: results may be written that tell of it."""
    _Interrupt.is_taken = True


def require_uninterrupted() -> None:
    """Raise an interrupt that nobody has taken, before something is kept.

    Raises:
        KeyboardInterrupt: it was swallowed.
    """
    if _Interrupt.is_noted and not _Interrupt.is_taken:
        raise KeyboardInterrupt


@contextmanager
def postpone_interrupts() -> Iterator[None]:
    """A short block, such as one that clears up, which no interrupt ends half way."""
    _Interrupt.postponements += 1
    try:
        yield
    finally:
        _Interrupt.postponements -= 1
    if not _is_under_way():
        require_uninterrupted()


def run_command(command: Callable[[], None]) -> None:
    """Run a whole command, which SIGINT, SIGTERM and SIGHUP interrupt.

    Once the command has returned, further signals are ignored, because only brief clean-up remains.

    Args:
        command: imports what it needs itself, so that an interrupt finds nothing half imported
            that would tell of it by a traceback.

    Raises:
        SystemExit: the command's own; :data:`INTERRUPTED` where a signal came, however it ended.
    """
    sys.unraisablehook = _tell_lost_error
    _watch_for_stuck_code()
    signal.signal(signal.SIGALRM, handle_interrupt)
    for number in _SIGNALS:
        if number not in _KEPT_IGNORED or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handle_interrupt)
    try:
        try:
            command()
        finally:
            _ignore_signals()
    except BaseException as end:  # whatever the interrupt has become
        told = isinstance(end, KeyboardInterrupt) or getattr(end, "code", None) == INTERRUPTED
        if not (told or _Interrupt.is_noted):
            raise
        _Interrupt.is_noted = True
    if _Interrupt.is_noted:
        _say()
        sys.exit(INTERRUPTED)


def _say() -> None:
    with suppress(OSError):  # whoever read it may be gone
        os.write(2, b"error: interrupted; the same command resumes it\n")


def _watch_for_stuck_code() -> None:
    """End this process where a signal's handler does not run, as far as native code lets threads.

    Temporary files stay then.
    """
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)

    def watch() -> None:
        while number := os.read(woken, 1):
            if number[0] in _SIGNALS:
                time.sleep(_STUCK_SECONDS)
                if signal.getsignal(number[0]) is handle_interrupt and not _Interrupt.is_noted:
                    _say()
                    os._exit(INTERRUPTED)

    threading.Thread(target=watch, daemon=True, name="interrupts").start()


def _ignore_signals() -> None:
    take_interrupt()
    for number in (*_SIGNALS, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _tell_lost_error(lost: sys.UnraisableHookArgs) -> None:
    """Python's own report of an error that is lost in a callback; none of an interrupt."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
