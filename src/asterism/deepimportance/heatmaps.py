"""Relevance of pixels, for a few inputs of each class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import write_arrays
from asterism.data import Dataset
from asterism.deepimportance.composite import composite_of
from asterism.deepimportance.judged_keras import JudgedKeras
from asterism.deepimportance.params import RelevanceParams
from asterism.deepimportance.tracing import BATCH
from asterism.models.keras_models.preprocessing import model_input

PER_CLASS = 3


@dataclass(frozen=True)
class Heatmaps:
    """Inputs with the relevance of their pixels.

    Attributes:
        images: uint8 ``(N, H, W, C)``.
        relevance: float32 ``(N, H, W)``, summed over channels.
        labels: int64 ``(N,)``.
    """

    images: NDArray[np.uint8]
    relevance: NDArray[np.float32]
    labels: NDArray[np.int64]

    def save(self, folder: Path) -> None:
        """Write ``heatmaps.npz``."""
        write_arrays(folder / "heatmaps.npz", **vars(self))


def heatmaps(
    model: JudgedKeras,
    params: RelevanceParams,
    data: Dataset,
    per_class: int = PER_CLASS,
) -> Heatmaps:
    """Relevance, for their class, of the first test inputs of each class."""
    chosen = np.concatenate(
        [np.flatnonzero(data.test_labels == label)[:per_class] for label in range(data.classes)]
    )
    images, labels = data.test_images[chosen], data.test_labels[chosen]
    propagate = model.propagator(None, composite_of(params))
    relevance = []
    for start in range(0, len(images), BATCH):
        part = slice(start, start + BATCH)
        _, found = propagate(model_input(images[part], model.preprocessing), labels[part])
        relevance.append(found.sum(axis=-1))
    return Heatmaps(images, np.concatenate(relevance), labels)
