"""Clusters of each important neuron's activations over the training set."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.core.settings import machine
from asterism.deepimportance.histogram import Histogram
from asterism.deepimportance.kmeans import cluster_values, silhouette
from asterism.deepimportance.params import ClusterParams

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NeuronClusters:
    """One neuron's clusters.

    Attributes:
        centroids: float64 ``(k,)``, ascending.
        silhouette: of the chosen clustering; None for a single cluster.
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
        histograms: of each neuron's activations over the training inputs.
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
