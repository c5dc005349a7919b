"""Starting processes that end with their parent, and ending processes with all their children."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

Started = TypeVar("Started")

#: Seconds between two looks at the parent, where the system sends no signal when it ends.
_LOOK_SECONDS = 0.5

#: Seconds to wait for killed processes: the system may delay their end, as on a dead disk.
_REAP_SECONDS = 10.0

#: The longest interval that counts, in seconds: a longer one means that this process was stopped.
_LONGEST_LOOK = 2.0

#: Options of Linux' prctl, from ``linux/prctl.h``.
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36


def die_with_parent(parent: int | None = None) -> None:
    """From now on, SIGKILL ends this process when its parent has ended.

    On Linux the system sends it, whatever this process is doing, even while a library holds the
    interpreter's lock. The system takes the *thread* that started this process for its
    parent, so start it by :func:`start_in_lasting_thread`. Elsewhere a thread keeps watch, which
    such a library can hold up.

    Args:
        parent: the process that started this one, if known; it may have ended already.
    """
    before = os.getppid() if parent is None else parent
    if sys.platform == "linux":
        _control(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != before:
            os.kill(os.getpid(), signal.SIGKILL)
    else:
        _watch(before, lambda: os.kill(os.getpid(), signal.SIGKILL))


def interrupt_group_with_parent() -> None:
    """From now on, send SIGINT to this process and its group when its parent has ended.

    Signals of a terminal or to the parent's group do not reach them, and a parent that is killed
    sends none. A thread keeps watch, so this is for processes whose own code is all Python.
    """
    _watch(os.getppid(), lambda: os.killpg(0, signal.SIGINT))


def start_in_lasting_thread(start: Callable[[], Started]) -> Started:
    """Start a process in a thread that lasts as long as this process; what ``start`` returns.

    For children that call :func:`die_with_parent`: started in another thread, they would be
    killed when that thread ends.
    """
    return _starter.submit(start).result()


def run_alone(command: Sequence[str], seconds: float, **given: Any) -> int | None:
    """Run any command, without input, and kill what is left of its process group after it.

    The command ends when this process does, see :func:`die_with_parent`.

    Args:
        command: program and arguments.
        seconds: the time limit.
        given: arguments of :class:`subprocess.Popen`, as ``env`` and ``stdout``.

    Returns:
        The exit status; None where it took too long.
    """
    first = [sys.executable, "-I", __file__, str(os.getpid()), *command]
    process = start_in_lasting_thread(
        lambda: subprocess.Popen(first, stdin=subprocess.DEVNULL, start_new_session=True, **given)
    )
    countdown = Countdown(seconds)
    try:
        while not countdown.is_over():
            with suppress(subprocess.TimeoutExpired):
                return process.wait(_LOOK_SECONDS)
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def adopt_orphans() -> None:
    """Become the parent of every process below this one whose own parent ends; Linux only."""
    if sys.platform == "linux":
        _control(_SET_CHILD_SUBREAPER, 1)


def kill_descendants() -> None:
    """Kill all descendants of this process, and wait until they have ended.

    After :func:`adopt_orphans` none is left. Without it, descendants whose parents have ended
    before are not found.
    """
    deadline = time.monotonic() + _REAP_SECONDS
    while _has_children() and time.monotonic() < deadline:
        import psutil  # a process whose children have all ended does without

        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                process.kill()
        time.sleep(0.01)


class Countdown:
    """A time limit that counts only time in which this process runs.

    After a stop (SIGSTOP, a sleeping machine) the remaining time is as long as before it.

    Args:
        seconds: how long.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._latest = time.monotonic()

    def is_over(self) -> bool:
        """Whether the time is used up. To be called about every second."""
        now = time.monotonic()
        self._left -= min(now - self._latest, _LONGEST_LOOK)
        self._latest = now
        return self._left < 0


def _has_children() -> bool:
    """Whether this process has children, after those that have ended are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return False
    return True


def _control(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")


def _watch(parent: int, act: Callable[[], None]) -> None:
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
        act()

    threading.Thread(target=watch, daemon=True).start()


#: The thread that starts processes.
_starter: ThreadPoolExecutor


def _renew_starter() -> None:
    """Make it anew: a forked child does not have that of its parent."""
    global _starter
    _starter = ThreadPoolExecutor(1, "starts-processes")  # which begins with the first process


_renew_starter()
os.register_at_fork(after_in_child=_renew_starter)

if __name__ == "__main__":  # PARENT COMMAND...: what run_alone starts first, in the same process
    die_with_parent(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606
