"""Files that attacks refer to, beside the examples' folder: ``../outside/…`` from an example.

The example's folder lies one deeper, so both depths are found from it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

#: As an example's files may call the folder of the bait, wherever its main file lies.
OUTSIDE = "../../outside"


def lay_bait(folder: Path) -> None:
    """Write one small file of each kind that a reader could be led to."""
    import cv2
    import h5py

    (folder / "secret.txt").write_text("secret\n")
    (folder / "secret.bin").write_bytes(np.ones(4096, np.float32).tobytes())
    cv2.imwrite(str(folder / "secret.png"), np.zeros((80, 80, 3), np.uint8))
    with h5py.File(folder / "secret.h5", "w") as file:
        file["weights"] = np.ones((64, 64), np.float32)
    (folder / "stranger.py").write_text("raise SystemExit('imported')\n")
    (folder / "kept").mkdir()
    (folder / "kept" / "work.txt").write_text("work that nobody may delete\n")
