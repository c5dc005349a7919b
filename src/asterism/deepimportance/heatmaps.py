"""Relevance of pixels, for a few pictures of each class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import write_arrays
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.deepimportance.composites import build_composite
from asterism.deepimportance.judged_model import Floats, JudgedModel
from asterism.deepimportance.neurons import BATCH
from asterism.deepimportance.params import RelevanceParams

log = get_logger(__name__)

#: Pictures of a class, and classes: a page is to be looked at.
PER_CLASS, CLASSES = 3, 20


@dataclass(frozen=True)
class Heatmaps:
    """Inputs with the relevance of their pixels.

    Attributes:
        images: uint8 ``(N, H, W, C)``.
        relevance: float32 ``(N, H, W)``, summed over channels.
        labels: int64 ``(N,)``.
    """

    images: NDArray[np.uint8]
    relevance: Floats
    labels: NDArray[np.int64]

    def save(self, folder: Path) -> None:
        """Write ``heatmaps.npz``."""
        write_arrays(folder / "heatmaps.npz", **vars(self))


def compute_heatmaps(
    model: JudgedModel,
    params: RelevanceParams,
    images: NDArray[np.uint8],
    labels: NDArray[np.int64],
) -> Heatmaps:
    """Relevance, for their class, of the first pictures of each of the first classes.

    Args:
        model: a classifier of pictures.
        params: rules of relevance.
        images: uint8 ``(N, H, W, C)``.
        labels: int64 ``(N,)``; pictures of classes that the model lacks are left out.

    Raises:
        UserError: relevance has no way to the model's input.
    """
    known = [label for label in np.unique(labels) if 0 <= label < model.outputs]
    chosen = np.concatenate(
        [np.zeros(0, np.int64)]
        + [np.flatnonzero(labels == label)[:PER_CLASS] for label in known[:CLASSES]]
    )
    images, labels = images[chosen], labels[chosen]
    explain = model.pixel_explainer(build_composite(params))
    relevance = [np.zeros((0, *images.shape[1:3]), np.float32)]
    for start in range(0, len(images), BATCH):
        part = slice(start, start + BATCH)
        relevance.append(explain(images[part], labels[part]))
    return Heatmaps(images, np.concatenate(relevance), labels)


def heatmaps_or_none(
    model: JudgedModel,
    params: RelevanceParams,
    images: NDArray[np.uint8],
    labels: NDArray[np.int64],
) -> Heatmaps | None:
    """As :func:`compute_heatmaps`; None, which is logged, where relevance has no way to pixels."""
    try:
        return compute_heatmaps(model, params, images, labels)
    except UserError as error:
        log.warning("the page shows no relevance of pixels", reason=str(error))
        return None
