"""The folder beside an example's, which no reader may touch: bait, watched by the kernel.

Native libraries open files without telling Python, so inotify tells. Attacks refer to what lies
there, by relative paths: ``../../outside/…`` from an example, which lies one deeper.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

import cv2
import h5py
import numpy as np

#: As an example's files may call the folder of the bait, wherever its main file lies.
OUTSIDE = "../../outside"

_IN_CLOEXEC_NONBLOCK = os.O_CLOEXEC | os.O_NONBLOCK
_EVENTS = {
    0x1: "read", 0x2: "changed", 0x4: "given other rights", 0x20: "opened", 0x40: "moved away",
    0x80: "moved in", 0x100: "created", 0x200: "deleted", 0x400: "deleted", 0x800: "moved",
}  # fmt: skip
_HEADER = struct.Struct("iIII")

_LIBC = ctypes.CDLL(None, use_errno=True)


def _lay_bait(folder: Path) -> None:
    """Write one small file of each kind that a reader could be led to."""
    (folder / "kept").mkdir(parents=True)
    (folder / "kept" / "work.txt").write_text("work that nobody may delete\n")
    (folder / "secret.txt").write_text("secret\n")
    (folder / "secret.bin").write_bytes(np.ones(4096, np.float32).tobytes())
    (folder / "stranger.py").write_text("raise SystemExit('imported')\n")
    cv2.imwrite(str(folder / "secret.png"), np.zeros((80, 80, 3), np.uint8))
    with h5py.File(folder / "secret.h5", "w") as file:
        file["weights"] = np.ones((64, 64), np.float32)


class Surroundings:
    """A folder with bait, whose every use is noted, and that of all folders below it.

    Args:
        folder: is made.
    """

    def __init__(self, folder: Path) -> None:
        _lay_bait(folder)
        self._descriptor = _LIBC.inotify_init1(_IN_CLOEXEC_NONBLOCK)
        mask = sum(_EVENTS)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
            if _LIBC.inotify_add_watch(self._descriptor, os.fsencode(place), mask) < 0:
                raise OSError(ctypes.get_errno(), f"inotify_add_watch {place}")

    def touched(self) -> list[str]:
        """What was done in the folder since the last call."""
        found: list[str] = []
        while True:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return found
            position = 0
            while position < len(data):
                _, mask, _, length = _HEADER.unpack_from(data, position)
                start = position + _HEADER.size
                name = data[start : start + length].rstrip(b"\0").decode(errors="replace")
                done = next((word for bit, word in _EVENTS.items() if mask & bit), hex(mask))
                told = f"{name or 'the folder'} beside the example was {done}"
                if told not in found:
                    found.append(told)
                position = start + length

    def close(self) -> None:
        os.close(self._descriptor)
