"""Clusters of each important neuron's activations over the training set.

How often each value of a neuron occurred is kept in memory that does not grow with the inputs.

Clusters are optimal: in one dimension they are intervals of the sorted values, so k-means is a
shortest path. With ``D[k][i]`` the least within-cluster sum of squares of the first ``i`` values in
``k`` clusters, ``D[k][i] = min_j D[k-1][j] + cost(j, i)`` (Wang and Song, "Ckmeans.1d.dp", The R
Journal 2011). ``cost`` is concave Monge, so the best ``j`` never falls as ``i`` grows, and solving
middle rows first bounds the search of the others: O(k n log n). All rows of one depth are solved at
once. Values are given once each, with the number of times that they occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.core.settings import machine
from asterism.deepimportance.params import ClusterParams

Floats = NDArray[np.float64]

#: Most values other than 0 that are told apart.
CELLS = 1 << 16


Ints = NDArray[np.int64]


class Histogram:
    """Counts of values, exact for zeros and up to ``CELLS`` other different ones.

    Beyond that values share cells: the line is cut at multiples of the smallest power of two with
    which at most ``CELLS`` cells are occupied, and a cell keeps its count and its mean. Cells of
    one width lie within those of the next, so the result does not depend on the order of the
    values. Zeros, which inactive neurons give, never share a cell.
    """

    def __init__(self) -> None:
        self._zeros = 0
        self._values: Floats = np.empty(0)
        self._counts: Floats = np.empty(0)
        self._exponent: int | None = None  # of the cells' width; None: every value is its own
        self._waiting: list[Floats] = []

    def add(self, values: NDArray[np.float32]) -> None:
        """Count values ``(N,)``."""
        others = values[values != 0].astype(np.float64)
        self._zeros += len(values) - len(others)
        self._waiting.append(others)
        if sum(map(len, self._waiting)) >= CELLS:
            self._settle()

    def values(self) -> Floats:
        """Different values (or the means of cells), ascending."""
        self._settle()
        return self._with_zeros(self._values, 0.0)

    def counts(self) -> Floats:
        """How often each of :meth:`values` occurred."""
        self._settle()
        return self._with_zeros(self._counts, self._zeros)

    def _with_zeros(self, numbers: Floats, zeros: float) -> Floats:
        """A number for each of the other values, and one for the zeros in their place."""
        return (
            np.insert(numbers, np.searchsorted(self._values, 0), zeros) if self._zeros else numbers
        )

    def _settle(self) -> None:
        if not self._waiting:
            return
        values = np.concatenate([self._values, *self._waiting])
        counts = np.concatenate([self._counts, np.ones(len(values) - len(self._counts))])
        self._waiting.clear()
        different, group = np.unique(values, return_inverse=True)
        if self._exponent is None and len(different) > CELLS:
            self._exponent = _first_exponent(different)
        if self._exponent is None:
            self._values, self._counts = different, _summed(group, counts)
            return
        while True:
            cells, group = np.unique(_cells(values, self._exponent), return_inverse=True)
            if len(cells) <= CELLS:
                break
            self._exponent += 1
        self._counts = _summed(group, counts)
        means = _summed(group, counts * values) / self._counts
        # Rounding must not carry a mean out of its cell.
        low, high = (np.ldexp(cells + end, self._exponent) for end in (0, 1))
        self._values = np.clip(means, low, np.nextafter(high, low))


def _summed(groups: NDArray[np.int64], numbers: Floats) -> Floats:
    """Sums of the numbers of each group."""
    sums: Floats = np.bincount(groups, numbers).astype(np.float64)
    return sums


def _first_exponent(different: Floats) -> int:
    """Exponent of the smallest power of two that cuts values into few enough cells."""
    exponent = int(np.ceil(np.log2((different[-1] - different[0]) / CELLS))) + 1
    while len(np.unique(_cells(different, exponent - 1))) <= CELLS:
        exponent -= 1
    return exponent


def _cells(values: Floats, exponent: int) -> Floats:
    """Numbers of the cells of width ``2 ** exponent`` that values lie in; exact."""
    numbers: Floats = np.floor(np.ldexp(values, -exponent))
    return numbers


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


@dataclass(frozen=True)
class NeuronClusters:
    """One neuron's clusters.

    Attributes:
        centroids: float64 ``(k,)``, ascending.
        silhouette: the silhouette of the chosen clustering; None for a single cluster.
    """

    centroids: Floats
    silhouette: float | None

    def assign(self, activations: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Nearest centroid of each activation ``(N,)``, the lower of two as near."""
        borders = (self.centroids[1:] + self.centroids[:-1]) / 2
        return np.searchsorted(borders, activations.astype(np.float64)).astype(np.uint8)


def fit_clusters(
    histograms: Sequence[Histogram], params: ClusterParams, *, dense: bool
) -> list[NeuronClusters]:
    """Clusters of several neurons.

    Args:
        histograms: the histograms of each neuron's activations over the training inputs.
        params: how to cluster.
        dense: whether the neurons are those of a dense layer, whose zeros may be left out.
    """
    with ThreadPoolExecutor(machine.available_threads()) as threads:
        return list(threads.map(lambda histogram: _fit(histogram, params, dense), histograms))


def _fit(histogram: Histogram, params: ClusterParams, dense: bool) -> NeuronClusters:
    values, counts = histogram.values(), histogram.counts()
    if dense and params.leave_out_zeros:
        values, counts = values[values != 0], counts[values != 0]
    if len(values) == 0:
        return NeuronClusters(np.zeros(1), None)
    enough = counts.sum() >= params.min_values
    clusterings = cluster_values(values, counts, params.k_max if enough else 1)
    chosen, best = clusterings[0].centroids, None
    for candidate in clusterings[params.k_min - 1 :]:
        score = silhouette(values, counts, candidate.borders)
        if best is None or score > best:
            chosen, best = candidate.centroids, score
    if params.decimals is not None:
        chosen = np.unique(np.round(chosen, params.decimals))
    return NeuronClusters(chosen, best)
