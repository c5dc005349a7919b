"""Coverage and similarity of whole sets of inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.core.console import progress
from asterism.deepstellar.coverage import measure
from asterism.deepstellar.model import TraceModel
from asterism.deepstellar.similarity import ITEMS, Items, detection, similarity_to_class
from asterism.models.recurrent import RecurrentModel

BATCH = 512


@dataclass(frozen=True)
class Traces:
    """What a network does on a set of inputs.

    Attributes:
        codes: int64 ``(N, T)``, abstract states.
        predicted: int64 ``(N,)``, the class of highest probability.
    """

    codes: NDArray[np.int64]
    predicted: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.codes)

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Traces:
        """The traces of some of the inputs."""
        return Traces(self.codes[chosen], self.predicted[chosen])


def trace(
    network: RecurrentModel, model: TraceModel, images: NDArray[np.uint8], label: str
) -> Traces:
    """Run images ``(N, H, W, C)`` and abstract their hidden states, batch by batch."""
    codes, predicted = [], []
    starts = range(0, len(images), BATCH)
    for start in progress(starts, label=f"tracing {label}", unit="batch"):
        probabilities, states = network.run(images[start : start + BATCH])
        codes.append(model.abstraction.encode(states))
        predicted.append(probabilities.argmax(axis=1))
    if not codes:
        return Traces(np.empty((0, 1), np.int64), np.empty(0, np.int64))
    return Traces(np.concatenate(codes), np.concatenate(predicted))


@dataclass(frozen=True)
class Detector:
    """Tells unusual inputs from normal ones by how little their traces resemble references.

    Attributes:
        references: traces of correctly handled training inputs.
        normal: traces of correctly handled inputs that were in no training.
    """

    references: Traces
    normal: Traces

    def roc(self, suspicious: Traces, items: Items) -> tuple[float, NDArray[np.float64]]:
        """AUROC and ROC curve ``(P, 2)`` of finding the suspicious traces among the normal."""
        return detection(self._similarity(self.normal, items), self._similarity(suspicious, items))

    def _similarity(self, traces: Traces, items: Items) -> NDArray[np.float64]:
        return similarity_to_class(
            traces.codes,
            traces.predicted,
            self.references.codes,
            self.references.predicted,
            items,
        )


def describe(model: TraceModel, traces: Traces) -> dict[str, float]:
    """Number of inputs, and every coverage criterion's value."""
    return {"inputs": len(traces), **measure(model, traces.codes)}


def detect(
    detector: Detector, suspicious: Traces
) -> tuple[dict[str, float], dict[Items, NDArray[np.float64]]]:
    """AUROC by kind of similarity (``state_similarity_auroc``, …), and the ROC curves.

    Both are empty when there is nothing to detect.
    """
    if not len(suspicious) or not len(detector.normal):
        return {}, {}
    found = {items: detector.roc(suspicious, items) for items in ITEMS}
    areas = {f"{items}_similarity_auroc": area for items, (area, _) in found.items()}
    return areas, {items: curve for items, (_, curve) in found.items()}
