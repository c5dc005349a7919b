"""Numbers for figures, from the tables of an experiment's points: curves and histograms."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from asterism.config import SeriesParams
from asterism.core.files.artifacts import read_table
from asterism.core.messages.errors import UserError

#: Points of a curve that are recorded at most.
_MOST_POINTS = 24

#: Where the bins of histograms begin: 1, 2, 3, 4, 6, 8, 12, …
BINS = (1, *sorted(scale << power for scale in (2, 3) for power in range(20)))


@dataclass(frozen=True)
class RecordedSeries:
    """A curve, or a histogram over ``BINS``.

    Attributes:
        x: where it is known, ascending; a histogram's bins that are not empty.
        y: the numbers there; a histogram's counts.
    """

    x: Sequence[float]
    y: Sequence[float]


def read_series(folder: Path, settings: SeriesParams) -> RecordedSeries:
    """A series of a point.

    Args:
        folder: what is kept of the point's workspace.
        settings: which table, rows and columns.

    Raises:
        UserError: the table or a column is missing, or a number is not one.
    """
    path = folder / settings.file
    rows = read_table(path).to_dicts()
    wanted = [settings.column, *([] if settings.over is None else [settings.over])]
    for column in [*wanted, *settings.where]:
        if rows and column not in rows[0]:
            raise UserError(f"{path} has no column {column!r} (it has: {', '.join(rows[0])})")
    held = [r for r in rows if all(str(r[name]) == v for name, v in settings.where.items())]
    try:
        numbers = np.array([[float(row[name]) for name in wanted] for row in held])
    except (TypeError, ValueError):
        raise UserError(f"{path} holds values other than numbers in {wanted}") from None
    if not held:
        return RecordedSeries((), ())
    return _histogram(numbers[:, 0]) if settings.over is None else _curve(numbers)


def _histogram(values: np.ndarray) -> RecordedSeries:
    counts = Counter(BINS[max(bisect_right(BINS, value) - 1, 0)] for value in values)
    bins = sorted(counts)
    return RecordedSeries(bins, [counts[b] for b in bins])


def _curve(numbers: np.ndarray) -> RecordedSeries:
    """At most so many points, evenly apart, the first and the last among them."""
    kept = np.unique(np.linspace(0, len(numbers) - 1, _MOST_POINTS).round().astype(int))
    x, y = numbers[kept, 1], numbers[kept, 0]
    return RecordedSeries([_short(v) for v in x], [_short(v) for v in y])


def _short(value: float) -> float:
    return float(f"{value:.5g}")
