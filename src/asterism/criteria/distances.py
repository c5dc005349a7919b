"""Distances between rows that fit into memory and rows that need not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from asterism.criteria.row_file import RowFile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rows of either side that a matrix of distances holds at once.
CHUNK = 1024


def nearest(rows: Floats, files: Sequence[RowFile]) -> tuple[Ints, Floats]:
    """The nearest of all points of some files.

    Args:
        rows: ``(N, d)``.
        files: points ``(·, d)``, at least one of them not empty; counted through one after another.

    Returns:
        Position of and Euclidean distance to each row's nearest point; of equal ones the first.
    """
    positions, least = np.zeros(len(rows), np.int64), np.full(len(rows), np.inf)
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        here = slice(start, start + CHUNK)
        offset = 0
        for file in files:
            for at, chunk in file.chunks(CHUNK):
                points = chunk.astype(np.float64)
                # |x - p|² without |x|², which has no say in which point is nearest.
                unlikeness = (-2 * part) @ points.T
                unlikeness += (points**2).sum(axis=1)
                closest = unlikeness.argmin(axis=1)
                exact = ((part - points[closest]) ** 2).sum(axis=1)
                closer = exact < least[here]
                positions[here][closer] = offset + at + closest[closer]
                least[here][closer] = exact[closer]
            offset += len(file)
    return positions, np.sqrt(least)


def squared_distances(a: Floats, b: Floats) -> Floats:
    """Squared Euclidean distances ``(len(a), len(b))``."""
    products = a @ b.T
    products *= -2
    products += (a**2).sum(axis=1)[:, None]
    products += (b**2).sum(axis=1)
    squares: Floats = np.maximum(products, 0, out=products)
    return squares
