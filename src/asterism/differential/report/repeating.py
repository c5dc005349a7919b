"""The process that runs a script several times over, with one import of Keras.

``python -m asterism.differential.report.repeating SCRIPT TIMES SECONDS STATUSES`` imports Keras,
which is nearly all that a script takes time for, and forks a process for each run but the last,
one after another. How they ended goes into the file STATUSES. Then it runs the script itself.

A fork that inherits no threads goes on as a process that has imported Keras itself. Where the
import starts threads, nothing is forked, and STATUSES says so: it holds an empty list.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from asterism.core.workers.processes import Countdown, killed_with_parent

#: How a run ends that takes too long, as ``timeout`` of the GNU utilities has it.
TOO_LATE = 124

_LOOK_SECONDS = 0.05

#: What a process of a script does about an exception that the script does not expect.
OTHERWISE = """
def otherwise(kind, error, trace):
    sys.__excepthook__(kind, error, trace)
    sys.exit(2)
sys.excepthook = otherwise
"""


def go_on_to_run(times: int, seconds: float, statuses: Path) -> None:
    """Return once in each process that is to run the script: in the forks, and here in the end.

    Args:
        times: how many.
        seconds: time limit of a fork.
        statuses: the file for how they ended.
    """
    here, ended = os.getpid(), []
    for _ in range(times - 1 if _is_imported() and _has_one_thread() else 0):
        fork = os.fork()
        if fork == 0:
            killed_with_parent(here)
            return
        ended.append(_awaited(fork, seconds))
    statuses.write_text(json.dumps(ended), encoding="utf-8")


def _is_imported() -> bool:
    """Whether Keras could be imported; a script that runs without it says why not."""
    with suppress(Exception):
        import keras  # noqa: F401

        return True
    return False


def _has_one_thread() -> bool:
    tasks = Path("/proc/self/task")
    return tasks.is_dir() and len(list(tasks.iterdir())) == 1


def _awaited(process: int, seconds: float) -> int:
    """How a child ends: its exit status, or minus the number of a signal."""
    countdown, killed = Countdown(seconds), False
    while (ended := os.waitpid(process, os.WNOHANG)) == (0, 0):
        if not killed and countdown.is_over():
            os.kill(process, signal.SIGKILL)
            killed = True
        time.sleep(_LOOK_SECONDS)
    return TOO_LATE if killed else os.waitstatus_to_exitcode(ended[1])


if __name__ == "__main__":
    go_on_to_run(int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
    sys.argv = [sys.argv[1]]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    exec(OTHERWISE)  # noqa: S102  (lines above)
    runpy.run_path(sys.argv[0], run_name="__main__")
