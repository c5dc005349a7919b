"""How often two models differ on ordinary inputs: by class, by direction, and by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.core.statistics import Share, compute_share, kl_divergence, label_margins, quantiles
from asterism.dflare.comparisons import (
    AgreementFigure,
    Comparison,
    find_lost_answers,
    find_unanswered_inputs,
    replace_nonfinite,
)
from asterism.dflare.comparisons.labels import TopLabelComparison

Rows = NDArray[np.float32]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Agreement:
    """How two models agree on the same inputs. Every figure counts all inputs.

    Attributes:
        differ: share of inputs on which they deviate. An answer that is not finite where the
            original's is deviates.
        lost: inputs on which the compressed model alone gave no finite answer.
        failed: inputs on which the original gave none, so that nothing is compared.
        accuracy: the accuracy of the original and of the compressed model; empty without labels.
        directions: counts of deviations by what became of them: ``right to wrong``, ``wrong to
            right``, ``wrong to other wrong``; empty without labels.
        classes: share of deviations by class: the label, without labels the original's answer;
            empty where outputs are no classes.
        divergence: quantiles of the Kullback–Leibler divergence, in nats; empty likewise.
        margin_lost: quantiles of how much of the original's margin the compressed model lost.
        distance: quantiles of the comparison's distance, of the inputs that both answer.
        figures: what else the comparison tells, see
            :class:`~asterism.dflare.comparisons.AgreementFigure`.
    """

    differ: Share
    lost: int
    failed: int
    accuracy: tuple[Share, ...]
    directions: dict[str, int]
    classes: dict[int, Share]
    divergence: dict[str, float]
    margin_lost: dict[str, float]
    distance: dict[str, float]
    figures: tuple[AgreementFigure, ...]

    @property
    def worst_class(self) -> tuple[int, Share] | None:
        """The class whose inputs deviate most often; None where there are no classes."""
        if not self.classes:
            return None
        return max(self.classes.items(), key=lambda entry: (entry[1].share, entry[1].total))


def measure_agreement(
    f: Rows,
    g: Rows,
    comparison: Comparison,
    labels: NDArray[np.int64] | None,
    confidence: float,
) -> Agreement:
    """Compare two models' answers to the same inputs.

    Args:
        f: answers of the original, ``(N, K)``.
        g: answers of the compressed model.
        comparison: says on which inputs they deviate, and how far apart they are.
        labels: the right classes; None where unknown.
        confidence: the confidence of the intervals.
    """
    deviates, unknown, none = (
        comparison.deviates(f, g),
        find_unanswered_inputs(f),
        find_lost_answers(f, g),
    )
    both = ~unknown & ~none
    distance = np.asarray(comparison.distance(f, g)[both], np.float64)
    answered = (f, g) if both.all() else (f[both], g[both])
    ours, theirs = (comparison.classes(rows) for rows in replace_nonfinite(f, g))
    apart = _apart(comparison, *answered)
    accuracy: tuple[Share, ...] = ()
    directions: dict[str, int] = {}
    classes: dict[int, Share] = {}
    if ours is not None and theirs is not None:
        theirs = np.where(none, -1, theirs)  # no class
        classes = _by_class(deviates, ours if labels is None else labels, confidence)
        if labels is not None:
            accuracy = _accuracies(ours, theirs, labels, unknown, confidence)
            directions = _directions(ours, theirs, labels)
    return Agreement(
        differ=compute_share(int(deviates.sum()), len(f), confidence),
        lost=int(none.sum()),
        failed=int(unknown.sum()),
        accuracy=accuracy,
        directions=directions,
        classes=classes,
        divergence=apart[0],
        margin_lost=apart[1],
        distance=quantiles(distance),
        figures=comparison.figures(*answered) if both.any() else (),
    )


def _accuracies(
    ours: Labels, theirs: Labels, right: Labels, unknown: NDArray[np.bool_], confidence: float
) -> tuple[Share, ...]:
    """Accuracy of both models; what has no answer is wrong."""
    known = np.where(unknown, -1, ours)
    return tuple(
        compute_share(int((told == right).sum()), len(right), confidence)
        for told in (known, theirs)
    )


def _apart(comparison: Comparison, f: Rows, g: Rows) -> tuple[dict[str, float], dict[str, float]]:
    """Quantiles of divergence and lost margin; empty where a row holds no scores of classes."""
    if not isinstance(comparison, TopLabelComparison) or f.shape[1] < 2:
        return {}, {}
    p, q = comparison.chances(f, g)
    own = comparison.classes(p)
    return quantiles(kl_divergence(p, q)), quantiles(label_margins(p, own) - label_margins(q, own))


def _directions(ours: Labels, theirs: Labels, right: Labels) -> dict[str, int]:
    was, stays, other = ours == right, theirs == right, ours != theirs
    return {
        "right to wrong": int((was & ~stays).sum()),
        "wrong to right": int((~was & stays).sum()),
        "wrong to other wrong": int((~was & ~stays & other).sum()),
    }


def _by_class(deviates: NDArray[np.bool_], classes: Labels, confidence: float) -> dict[int, Share]:
    labels, places, counts = np.unique(classes, return_inverse=True, return_counts=True)
    deviating = np.bincount(places[deviates], minlength=len(labels))
    return {
        int(label): compute_share(int(some), int(n), confidence)
        for label, some, n in zip(labels, deviating, counts, strict=True)
    }
