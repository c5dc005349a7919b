"""The n-step boundary: unvisited cells close to visited ones (section 4.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asterism.deepstellar.model.abstraction import Abstraction


def boundary_codes(
    abstraction: Abstraction, visited: NDArray[np.int64], n_step: int
) -> NDArray[np.int64]:
    """Codes of the cells at Manhattan distance 1 to ``n_step`` from the nearest visited one.

    Args:
        abstraction: whose grid the codes belong to; it leaves more than ``n_step`` cells
            around the profiled grid.
        visited: int64 ``(S,)``, increasing.
        n_step: at least 1.

    Returns:
        int64 ``(B,)``, increasing, none of them visited. The region may reach beyond the
        profiled ranges.
    """
    units = np.int64(1) << (abstraction.bits * np.arange(abstraction.k, dtype=np.int64))
    steps = np.concatenate([units, -units])
    known = visited
    frontier = visited
    for _ in range(n_step):
        around = np.unique(frontier[:, np.newaxis] + steps)
        frontier = np.setdiff1d(around, known, assume_unique=True)
        known = np.union1d(known, frontier)
    return np.setdiff1d(known, visited, assume_unique=True)
