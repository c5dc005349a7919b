"""Writing what was learnt about a model's neurons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.artifacts import write_arrays, write_json
from asterism.deepimportance.measurement import Fitted

BINS = 40


def save_fitted(fitted: Fitted, subset: NDArray[np.int64], folder: Path) -> None:
    """Write relevance, important neurons, their clusters and histograms, and the subset.

    Args:
        fitted: what the training set taught.
        subset: positions among the test inputs of a smallest set with the test set's IDC.
        folder: ``relevance.npz``, ``neurons.json`` and ``smallest_subset.npz`` go there.
    """
    relevance = fitted.relevance
    write_arrays(folder / "relevance.npz", per_class=relevance.per_class, inputs=relevance.inputs)
    total = relevance.per_class.sum(axis=0)
    neurons = []
    for position, (neuron, clusters) in enumerate(
        zip(fitted.important, fitted.clusters, strict=True)
    ):
        values = fitted.activations[:, position].astype(np.float64)
        counts, edges = np.histogram(values, BINS)
        neurons.append(
            {
                "neuron": int(neuron),
                "relevance": float(total[neuron]),
                "centroids": clusters.centroids.tolist(),
                "silhouette": clusters.silhouette,
                "histogram": counts.tolist(),
                "edges": edges.tolist(),
            }
        )
    write_json(folder / "neurons.json", {"layer": fitted.subject, "neurons": neurons})
    write_arrays(folder / "smallest_subset.npz", positions=subset)


def table(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """Rows as columns."""
    return {key: [row[key] for row in rows] for key in rows[0]}
