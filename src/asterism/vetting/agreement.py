"""How often two models differ on ordinary inputs: by class, by direction, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.records import record_from
from asterism.vetting.statistics import Share, divergence, margins, quantiles, share_of

Rows = NDArray[np.float32]


@dataclass(frozen=True)
class Agreement:
    """How two models agree on the same inputs.

    Attributes:
        differ: share of inputs on which they deviate.
        failed: inputs on which a model gave no finite answer; they are in no other figure.
        accuracy: of the original and of the compressed model; empty without labels.
        directions: counts of deviations by what became of them: ``right to wrong``, ``wrong to
            right``, ``wrong to other wrong``; empty without labels.
        classes: share of deviations by class: the label, without labels the original's answer;
            empty where outputs are no scores of classes.
        divergence: quantiles of the Kullback–Leibler divergence, in nats; empty likewise.
        margin_lost: quantiles of how much of the original's margin the compressed model lost.
        distance: quantiles of the comparison's distance.
    """

    differ: Share
    failed: int
    accuracy: tuple[Share, ...]
    directions: dict[str, int]
    classes: dict[int, Share]
    divergence: dict[str, float]
    margin_lost: dict[str, float]
    distance: dict[str, float]

    @property
    def worst_class(self) -> tuple[int, Share] | None:
        """The class whose inputs deviate most often; None where there are no classes."""
        if not self.classes:
            return None
        return max(self.classes.items(), key=lambda entry: (entry[1].share, entry[1].total))

    def to_json(self) -> dict[str, Any]:
        """A JSON value."""
        return {
            "differ": self.differ.to_json(),
            "failed": self.failed,
            "accuracy": [share.to_json() for share in self.accuracy],
            "directions": self.directions,
            "classes": {str(label): share.to_json() for label, share in self.classes.items()},
            "divergence": self.divergence,
            "margin_lost": self.margin_lost,
            "distance": self.distance,
        }

    @staticmethod
    def from_json(value: Any) -> Agreement:
        """What :meth:`to_json` wrote.

        Raises:
            UserError: it is something else.
        """
        return record_from(Agreement, value)


def measure_agreement(
    f: Rows,
    g: Rows,
    deviates: NDArray[np.bool_],
    distance: NDArray[np.float32],
    labels: NDArray[np.int64] | None,
    scores: bool,
    confidence: float,
) -> Agreement:
    """Compare two models' answers to the same inputs.

    Args:
        f: answers of the original, ``(N, K)``.
        g: answers of the compressed model.
        deviates: on which inputs they deviate.
        distance: how far apart they are.
        labels: the right classes; None where unknown.
        scores: whether a row holds one probability for each class.
        confidence: of the intervals.
    """
    answered = np.isfinite(f).all(axis=1) & np.isfinite(g).all(axis=1)
    f, g, deviates, distance = f[answered], g[answered], deviates[answered], distance[answered]
    right = None if labels is None or not scores else labels[answered]
    ours, theirs = f.argmax(axis=1), g.argmax(axis=1)
    by_class = ours if right is None else right
    return Agreement(
        differ=share_of(int(deviates.sum()), len(f), confidence),
        failed=int((~answered).sum()),
        accuracy=()
        if right is None
        else tuple(share_of(int((a == right).sum()), len(f), confidence) for a in (ours, theirs)),
        directions={} if right is None else _directions(ours, theirs, right),
        classes=_by_class(deviates, by_class, confidence) if scores else {},
        divergence=quantiles(divergence(f, g)) if scores else {},
        margin_lost=quantiles(margins(f, ours) - margins(g, ours)) if scores else {},
        distance=quantiles(np.asarray(distance, np.float64)),
    )


def _directions(
    ours: NDArray[np.int64], theirs: NDArray[np.int64], right: NDArray[np.int64]
) -> dict[str, int]:
    was, stays, other = ours == right, theirs == right, ours != theirs
    return {
        "right to wrong": int((was & ~stays).sum()),
        "wrong to right": int((~was & stays).sum()),
        "wrong to other wrong": int((~was & ~stays & other).sum()),
    }


def _by_class(
    deviates: NDArray[np.bool_], classes: NDArray[np.int64], confidence: float
) -> dict[int, Share]:
    labels, places, counts = np.unique(classes, return_inverse=True, return_counts=True)
    deviating = np.bincount(places[deviates], minlength=len(labels))
    return {
        int(label): share_of(int(some), int(n), confidence)
        for label, some, n in zip(labels, deviating, counts, strict=True)
    }
