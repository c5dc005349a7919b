"""Memory and processor time of this process and of all processes that it has started."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from asterism.core.settings.machine import peak_memory_mb

if TYPE_CHECKING:
    import psutil

#: Seconds between two looks, and how many times longer than a look these are at least: where
#: processes hold much, one is dear. Processes that live shorter may be missed.
_LOOK_SECONDS, _LOOKS_APART = 1.0, 50


class Footprint:
    """Watches the memory of this process and its descendants from now on, in a thread."""

    def __init__(self) -> None:
        self._peak = 0
        threading.Thread(target=self._watch, daemon=True, name="footprint").start()

    def peak_mb(self) -> int:
        """The most that was seen, in MB.

        On Linux a page that several processes share is divided among them (PSS). Elsewhere it
        counts for each of them, so that the number is an upper bound.
        """
        self._look()
        return max(self._peak // 2**20, peak_memory_mb())

    def _watch(self) -> None:
        ended, seconds = threading.Event(), 0.0
        while not ended.wait(max(_LOOK_SECONDS, _LOOKS_APART * seconds)):
            started = time.perf_counter()
            self._look()
            seconds = time.perf_counter() - started

    def _look(self) -> None:
        self._peak = max(self._peak, int(_sum_over_processes(_held_by)))


def _held_by(process: psutil.Process) -> int:
    """Bytes of memory that a process holds.

    Raises:
        psutil.Error: it has ended, or is not ours.
    """
    memory = process.memory_full_info()
    return int(getattr(memory, "pss", memory.rss))


def processor_seconds() -> float:
    """Seconds of processor time, of all cores together, that this process has taken so far.

    Processes that it has started count, while they live and after it has waited for them.
    """
    return _sum_over_processes(_taken_by)


def _taken_by(process: psutil.Process) -> float:
    """Seconds that a process has taken, with those of processes that it has waited for."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def _sum_over_processes(number: Callable[[psutil.Process], float]) -> float:
    """The sum of a number of this process and of all that it has started."""
    import psutil  # here, since a stage of a tenth of a second has ended before

    total, me = 0.0, psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        with suppress(psutil.Error):  # it has ended meanwhile, and its time counts for its parent
            total += number(process)
    return total
