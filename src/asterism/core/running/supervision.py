"""Running a stage under a supervisor, which ends it on a signal or when its parent ends.

Native code that never comes back to Python (a model's endless loop, a catastrophic regular
expression) handles no signal, and an exception raised by a signal is lost where Python raises it
in a callback. So what does the work gets no signals at all. Three processes, each the parent of the
next:

- *supervisor*: what DVC started. It gets the signals, and looks whether its parent is still there.
- *reaper*: kills everything below it when the supervisor is gone or asks for it, and when the
  worker has ended. It leads a session of its own, so that signals to the supervisor's group pass it
  by: SIGKILL to that group would leave what libraries have started on their own, which gets no
  signal when its parent ends.
- *worker*: runs the stage, in a session of its own.

Supervisor and reaper run nothing but this module. SIGKILL may end any of the three: the others go
too. Results are replaced atomically and long work is saved as it goes, so nothing else is lost.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from asterism.core.files.interrupts import INTERRUPTED
from asterism.core.messages.escaping import printable
from asterism.core.workers.processes import adopt_orphans, die_with_parent, kill_descendants

#: Seconds between two looks at the parent.
_LOOK_SECONDS = 0.1

#: Signals that end a stage.
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_supervised(label: str, work: Callable[[], int]) -> int:
    """Do the work in a process of its own, and leave none behind.

    SIGINT, SIGTERM and SIGHUP end it at once, and so does the end of this process' parent. A
    signal that this process was started to ignore stays ignored. SIGTSTP (Ctrl-Z) stops it.

    Args:
        label: names the work in messages.
        work: returns an exit status. It is called in the worker, where this returns too.

    Returns:
        The work's exit status; :data:`INTERRUPTED`; or 128 + the number of the signal that ended
        the work's process.
    """
    parent = os.getppid()
    if _is_orphan(parent):
        _say(label, "its parent process has ended; the same command resumes it")
        return INTERRUPTED
    asked: list[int] = []
    for number in _ENDINGS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: asked.append(number))
    scratch = _scratch()
    adopt_orphans()
    ends, lifeline = os.pipe()
    if (reaper := os.fork()) == 0:
        os.close(lifeline)
        if _reap(label, ends, scratch):
            tempfile.tempdir = scratch
            return work()
    os.close(ends)
    _stop_along(reaper)
    woken = _wake_on_signals()
    interrupted = False
    while (ended := os.waitpid(reaper, os.WNOHANG)) == (0, 0):
        if not interrupted and (asked or os.getppid() != parent):
            interrupted = True
            os.close(lifeline)
        _wait_for(woken, seconds=_LOOK_SECONDS)
    _clear_up(scratch)  # where the reaper was killed
    status = os.waitstatus_to_exitcode(ended[1])
    if interrupted:
        _say(label, "interrupted; the same command resumes it")
        return INTERRUPTED
    return status if status >= 0 else 128 - status


def _is_orphan(parent: int) -> bool:
    """Whether the process that started this one has ended already.

    Then the system has made another process its parent, which belongs to another session. The
    original parent is in the same session, unless this process leads one of its own.
    """
    try:
        takes_orphans = parent == 1 or Path(f"/proc/{parent}/comm").read_text() == "systemd\n"
        leads = os.getsid(0) == os.getpid()
        return takes_orphans and not leads and os.getsid(parent) != os.getsid(0)
    except OSError:
        return False


def _scratch() -> str | None:
    """A folder for temporary files, which a process that is killed cannot remove itself."""
    try:
        return tempfile.mkdtemp(prefix="asterism-stage-")
    except OSError:  # the stage says so, where it needs one
        return None


def _reap(label: str, ends: int, scratch: str | None) -> bool:
    """Be the reaper until all is over; returns, with True, in the worker only."""
    status, reaper = 1, os.getpid()
    try:
        os.setsid()
        for number in _ENDINGS:
            signal.signal(number, signal.SIG_IGN)
        adopt_orphans()
        woken = _wake_on_signals()
        if (worker := os.fork()) == 0:
            os.close(ends)
            _become_worker(reaper)
            return True
        status = _watch_over(label, worker, ends, woken)
        _clear_up(scratch)
    finally:
        if os.getpid() == reaper:
            os._exit(status)
    return False  # never reached; for type checkers


def _clear_up(scratch: str | None) -> None:
    kill_descendants()
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)


def _become_worker(reaper: int) -> None:
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (*_ENDINGS, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    die_with_parent(reaper)


def _watch_over(label: str, worker: int, ends: int, woken: int) -> int:
    """Wait for the worker's end or the supervisor's; the exit status."""
    while True:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                if ended[0] == worker:
                    return _exit_status(label, os.waitstatus_to_exitcode(ended[1]))
        if ends in _wait_for(woken, ends):
            return INTERRUPTED


def _exit_status(label: str, status: int) -> int:
    """The exit status of a stage, where a signal may have ended it."""
    if status >= 0:
        return status
    if -status in _ENDINGS:
        _say(label, "interrupted; the same command resumes it")
        return INTERRUPTED
    name = signal.Signals(-status).name
    hint = " (where nobody sent it, memory ran out)" if -status == signal.SIGKILL else ""
    _say(label, f"{name} ended its process{hint}")
    return 128 - status


def _say(label: str, what: str) -> None:
    with suppress(OSError):  # whoever read it may be gone
        os.write(2, f"error: {printable(label)}: {what}\n".encode())


def _wake_on_signals() -> int:
    """A descriptor that is readable after a signal, the end of a child among them."""
    woken, wakes = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return woken


def _wait_for(woken: int, *others: int, seconds: float | None = None) -> list[int]:
    ready, _, _ = select.select([woken, *others], [], [], seconds)
    if woken in ready:
        os.read(woken, 1 << 12)
    return ready


def _stop_along(reaper: int) -> None:
    """Let Ctrl-Z stop what is below the reaper too, and go on with it."""

    def stop(*_: object) -> None:
        import psutil

        below: list[int] = []
        with suppress(psutil.Error):
            below += [p.pid for p in psutil.Process(reaper).children(recursive=True)]
        _send(below, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        _send(below, signal.SIGCONT)

    if signal.getsignal(signal.SIGTSTP) != signal.SIG_IGN:
        signal.signal(signal.SIGTSTP, stop)


def _send(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)
