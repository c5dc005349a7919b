"""Processes that lead a group of their own, and do not outlive whoever started them."""

from __future__ import annotations

import os
import signal
import threading
import time

#: Seconds between two looks at the parent.
_LOOK_SECONDS = 0.5


def end_with_parent(how: signal.Signals) -> None:
    """From here on, send ``how`` to this process and its group when its parent is gone.

    Signals of a terminal or to the parent's group do not reach them, and a parent that is killed
    sends none. A thread keeps watch.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
        os.killpg(0, how)

    threading.Thread(target=watch, daemon=True).start()
