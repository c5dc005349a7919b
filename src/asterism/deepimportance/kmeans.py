"""Optimal k-means of numbers on a line, and its exact silhouette.

In one dimension clusters are intervals of the sorted values, so k-means is a shortest path: with
``D[k][i]`` the least within-cluster sum of squares of the first ``i`` values in ``k`` clusters,
``D[k][i] = min_j D[k-1][j] + cost(j, i)`` (Wang and Song, "Ckmeans.1d.dp", The R Journal 2011).
``cost`` is concave Monge, so the best ``j`` never falls as ``i`` grows, and solving middle rows
first bounds the search of the others: O(k n log n). All rows of one depth are solved at once.

Values are given once each, with the number of times that they occur.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Clustering:
    """An optimal clustering of sorted values.

    Attributes:
        borders: int ``(k + 1,)``; cluster ``c`` holds the values ``borders[c]`` to
            ``borders[c + 1]`` (excluded).
        centroids: float ``(k,)``, ascending means.
        cost: within-cluster sum of squares.
    """

    borders: Ints
    centroids: Floats
    cost: float


class _Sums:
    """Prefix sums of sorted values and their counts."""

    def __init__(self, values: Floats, counts: Floats) -> None:
        self.origin = float(np.average(values, weights=counts))
        centred = values - self.origin  # differences of large prefix sums would lose digits
        self.count = np.concatenate([[0.0], np.cumsum(counts)])
        self.first = np.concatenate([[0.0], np.cumsum(counts * centred)])
        self.second = np.concatenate([[0.0], np.cumsum(counts * centred**2)])

    def cost(self, start: Ints, end: Ints) -> Floats:
        """Sum of squared distances to the mean of the values ``start`` to ``end`` (excluded)."""
        count = self.count[end] - self.count[start]
        first = self.first[end] - self.first[start]
        spread: Floats = self.second[end] - self.second[start] - first**2 / count
        return spread


def cluster_values(values: Floats, counts: Floats, k_max: int) -> list[Clustering]:
    """Optimal clusterings of one-dimensional values into 1, 2, … clusters.

    Args:
        values: float ``(n,)``, different ones, sorted ascending, at least one.
        counts: float ``(n,)``, how often each occurs.
        k_max: largest number of clusters.

    Returns:
        One for each k from 1 to ``k_max`` or the number of values, whichever is less.
    """
    n = len(values)
    sums = _Sums(values, counts)
    ends = np.arange(1, n + 1)
    best = sums.cost(np.zeros(n, np.int64), ends)  # D[1][i] at i - 1
    choices: list[Ints] = []  # per layer, the start of the last cluster
    results = [_clustering([0, n], sums, float(best[-1]))]
    for k in range(2, min(k_max, n) + 1):
        starts = np.arange(k - 1, n)
        totals = best[starts - 1] + sums.cost(starts, np.full(len(starts), n))
        last = int(starts[np.argmin(totals)])
        borders = [last, n]
        for choice in reversed(choices):
            borders.insert(0, int(choice[borders[0]]))
        results.append(_clustering([0, *borders], sums, float(totals.min())))
        if k < k_max:
            best, choice = _layer(best, sums, k, n)
            choices.append(choice)
    return results


def _clustering(borders: list[int], sums: _Sums, cost: float) -> Clustering:
    at = np.asarray(borders)
    means = sums.origin + np.diff(sums.first[at]) / np.diff(sums.count[at])
    return Clustering(at, means, max(cost, 0.0))


def _layer(previous: Floats, sums: _Sums, k: int, n: int) -> tuple[Floats, Ints]:
    """``D[k][i]`` for all ``i`` of at least ``k``, and the best start of the last cluster.

    Both are indexed so that what belongs to the first ``i`` values is at ``i - 1`` and at ``i``.
    """
    best = np.full(n, np.inf)
    choice = np.zeros(n + 1, np.int64)
    # D[k-1][j] + cost(j, i) without the term that depends on the row alone, see _Sums.cost.
    before = np.concatenate([[np.inf], previous - sums.second[1:]])
    # Rows are solved in the order of a balanced bisection; lows and highs bound their choices.
    lows, highs = np.array([k]), np.array([n])
    first, last = np.array([k - 1]), np.array([n - 1])
    while len(lows):
        rows = (lows + highs) // 2
        stop = np.minimum(last, rows - 1)
        sizes = stop - first + 1
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        starts = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, sizes)
        moved = np.repeat(sums.first[rows], sizes) - sums.first[starts]
        moved *= moved
        moved /= np.repeat(sums.count[rows], sizes) - sums.count[starts]
        totals = before[starts] - moved
        minima = np.minimum.reduceat(totals, offsets[:-1])
        hits = np.flatnonzero(totals == np.repeat(minima, sizes))
        winners = starts[hits[np.searchsorted(hits, offsets[:-1])]]
        best[rows - 1] = minima + sums.second[rows]
        choice[rows] = winners
        lows, highs, first, last = _halves(lows, highs, rows, first, last, winners)
    return best, choice


def _halves(
    lows: Ints, highs: Ints, rows: Ints, first: Ints, last: Ints, winners: Ints
) -> tuple[Ints, Ints, Ints, Ints]:
    left, right = rows > lows, rows < highs
    new_lows = np.concatenate([lows[left], rows[right] + 1])
    new_highs = np.concatenate([rows[left] - 1, highs[right]])
    new_first = np.concatenate([first[left], winners[right]])
    new_last = np.concatenate([winners[left], last[right]])
    return new_lows, new_highs, new_first, new_last


def silhouette(values: Floats, counts: Floats, borders: Ints) -> float:
    """Mean silhouette of all values, with no distance computed twice.

    A value's distances to its own cluster come from prefix sums. Of the other clusters the nearest
    by mean distance is a neighbouring one, whose mean distance is the distance to its mean.

    Args:
        values: float ``(n,)``, different ones, sorted ascending.
        counts: float ``(n,)``, how often each occurs.
        borders: int ``(k + 1,)``, at least two clusters, none empty.

    Returns:
        In [-1, 1]; a cluster of one value that occurs once counts 0 (Rousseeuw 1987).
    """
    k = len(borders) - 1
    if k < 2:
        raise ValueError("a silhouette needs two clusters")
    sizes = np.diff(borders)
    label = np.repeat(np.arange(k), sizes)
    before = np.concatenate([[0.0], np.cumsum(counts)])
    prefix = np.concatenate([[0.0], np.cumsum(counts * values)])
    start, end = borders[:-1][label], borders[1:][label]
    here = np.arange(len(values))
    below = values * (before[here] - before[start]) - (prefix[here] - prefix[start])
    above = prefix[end] - prefix[here] - values * (before[end] - before[here])
    members = before[end] - before[start]
    own = (below + above) / np.maximum(members - 1, 1)
    means = np.diff(prefix[borders]) / np.diff(before[borders])
    padded = np.concatenate([[-np.inf], means, [np.inf]])
    other = np.minimum(values - padded[label], padded[label + 2] - values)
    larger = np.maximum(own, other)
    scores = np.divide(other - own, larger, out=np.zeros_like(own), where=larger > 0)
    scores[members == 1] = 0.0
    return float(np.average(scores, weights=counts))
