"""Coverage as the fuzzer's feedback: which mutants reach something new.

As in AFL, and in the published fuzzer after it, a mutant is new not only when it visits something
for the first time, but also when it visits something more often than any before it, counted
in buckets: 1, 2, 3, 4–7, 8–15, 16–31, 32–127, 128 and more visits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Name of the criterion that guides a campaign, by what ``fuzz.criteria`` calls it.
GUIDING: dict[str, str | None] = {
    "state": "basic_state",
    "k_step": "n_step_state_boundary",
    "transition": "basic_transition",
    "none": None,
}

_BUCKET_STARTS = np.array([1, 2, 3, 4, 8, 16, 32, 128])


def bucket_visits(counts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The bucket number of each count of visits; 0 for no visit."""
    return np.searchsorted(_BUCKET_STARTS, counts, side="right").astype(np.uint8)


@dataclass(frozen=True)
class TraceVisits:
    """How often traces visit items, one entry for each trace and item that it visits.

    Attributes:
        traces: int64 ``(V,)``, not decreasing.
        items: int32 ``(V,)``.
        buckets: uint8 ``(V,)``.
    """

    traces: NDArray[np.int64]
    items: NDArray[np.int32]
    buckets: NDArray[np.uint8]


def count_visits(items: NDArray[np.int32]) -> TraceVisits:
    """How often traces ``(N, T)`` visit items; -1 counts as no item."""
    steps = items.shape[1]
    ordered = np.sort(items, axis=1)
    first = np.ones(items.shape, np.bool_)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=first[:, 1:])
    starts = np.flatnonzero(first)
    counts = np.diff(starts, append=items.size)
    visited = ordered.ravel()[starts]
    real = visited >= 0
    return TraceVisits(starts[real] // max(steps, 1), visited[real], bucket_visits(counts[real]))


class Guidance:
    """The highest bucket that each item has reached.

    Args:
        size: number of items; 0 for an unguided campaign, which finds nothing new.
    """

    def __init__(self, size: int) -> None:
        self.levels = np.zeros(size, np.uint8)

    def judge(self, visits: TraceVisits, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each trace is new, judged in order; each adds to what is known.

        Args:
            visits: of N traces.
            among: bool ``(N,)``; the others are left out and add nothing.
        """
        new = np.zeros(len(among), np.bool_)
        promising = np.flatnonzero(
            (visits.buckets > self.levels[visits.items]) & among[visits.traces]
        )
        for entry in promising:
            item, reached = visits.items[entry], visits.buckets[entry]
            if reached > self.levels[item]:
                self.levels[item] = reached
                new[visits.traces[entry]] = True
        return new
