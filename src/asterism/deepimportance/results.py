"""Writing the result files: important neurons, their clusters, and the inputs that cover them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.augmentation import prefix_facts
from asterism.core.files.artifacts import write_arrays, write_json
from asterism.deepimportance.fitting import FittedCriteria
from asterism.deepimportance.measurement import AdequacyMeasurement

BINS = 40


def save_fitted(fitted: FittedCriteria, folder: Path) -> None:
    """Write ``relevance.npz`` and ``neurons.json``: important neurons, clusters, histograms."""
    relevance = fitted.relevance
    write_arrays(folder / "relevance.npz", per_class=relevance.per_class, inputs=relevance.inputs)
    total = relevance.total(fitted.target_class)
    neurons = []
    idc = fitted.idc[fitted.widest]
    for neuron, histogram, clusters in zip(idc.neurons, idc.histograms, idc.clusters, strict=True):
        counts, edges = np.histogram(histogram.values(), BINS, weights=histogram.counts())
        neurons.append(
            {
                "neuron": int(neuron),
                "relevance": float(total[neuron]),
                "centroids": clusters.centroids.tolist(),
                "silhouette": clusters.silhouette,
                "histogram": counts.astype(np.int64).tolist(),
                "edges": edges.tolist(),
            }
        )
    facts = {
        "layer": fitted.subject,
        "target_class": fitted.target_class,
        "notes": relevance.notes,
        "neurons": neurons,
    }
    write_json(folder / "neurons.json", facts)


def save_combinations(measured: AdequacyMeasurement, base: NDArray[np.int64], folder: Path) -> None:
    """Write ``smallest_subset.npz`` and ``new_combinations.npz`` for each number of neurons.

    Args:
        measured: what test set and augmentations exercise.
        base: positions of the test set among all test inputs; the subset's are given so too.
        folder: the files go into folders in it that are named after the coverages (``idc_8``). Of
            each augmentation they hold the positions in it of a smallest subset, the combinations
            that only it reaches, uint8 ``(n, m)``, and the positions in it of inputs that do,
            ``(n,)``.
    """
    for coverage, exercised in measured.exercised.items():
        subsets = {"positions": base[exercised.subset], **exercised.subsets}
        write_arrays(folder / coverage / "smallest_subset.npz", **subsets)
        new = prefix_facts(
            {name: vars(combinations) for name, combinations in exercised.new.items()}
        )
        write_arrays(folder / coverage / "new_combinations.npz", **new)
