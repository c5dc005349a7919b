"""How much memory this process and all that it has started hold at a time, at most."""

from __future__ import annotations

import threading
from contextlib import suppress

from asterism.core.settings.machine import peak_memory_mb

#: Seconds between two looks. Processes that live shorter may be missed.
_LOOK_SECONDS = 1.0


class Footprint:
    """Watches the memory of this process and its descendants from now on, in a thread."""

    def __init__(self) -> None:
        self._peak = 0
        threading.Thread(target=self._watch, daemon=True, name="footprint").start()

    def peak_mb(self) -> int:
        """The most that was seen, in MB.

        Pages that forked processes share count once for each of them, so it is an upper bound.
        """
        self._look()
        return max(self._peak // 2**20, peak_memory_mb())

    def _watch(self) -> None:
        ended = threading.Event()
        while not ended.wait(_LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        import psutil  # here, since a stage of a tenth of a second has ended before

        held = 0
        me = psutil.Process()
        for process in [me, *me.children(recursive=True)]:
            with suppress(psutil.Error):  # it has ended meanwhile
                held += process.memory_info().rss
        self._peak = max(self._peak, held)
