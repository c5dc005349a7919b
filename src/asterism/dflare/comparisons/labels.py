"""Classifiers: one label, or several that are each there or not."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import (
    COMPARISONS,
    Comparison,
    Floats,
    Outputs,
    indecision,
    replace_nonfinite,
)
from asterism.models.images_and_scores import softmax

#: How far the sum of a row of probabilities may be from 1: 8-bit outputs are rounded.
_ROUNDED = 0.5


def as_probabilities(f: Outputs, g: Outputs) -> tuple[Outputs, Outputs]:
    """Rows of scores as rows of probabilities: where f's row holds logits, the softmax of both.

    Args:
        f: scores of the original, ``(N, K)``.
        g: those of the compressed model.
    """
    inside = (f >= 0).all(axis=1) & (f <= 1 + _ROUNDED).all(axis=1)
    given = inside & (np.abs(f.sum(axis=1) - 1) <= _ROUNDED)
    if given.all():
        return f, g
    rows = given[:, np.newaxis]
    return np.where(rows, f, softmax(f)), np.where(rows, g, softmax(g))


@COMPARISONS.register("top_label")
class TopLabelComparison(Comparison):
    """Compares classifiers: they deviate if their most probable labels differ.

    Args:
        options: there are none.
        shape: not needed: all of a row are labels.
    """

    def deviates_finite(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.Comparison.deviates_finite`."""
        different: NDArray[np.bool_] = f.argmax(axis=1) != g.argmax(axis=1)
        return different

    def distance_finite(self, f: Outputs, g: Outputs) -> Floats:
        """The difference of the two top-1 probabilities: Dflare's D."""
        difference: Floats = np.abs(f.max(axis=1) - g.max(axis=1))
        return difference

    def uncertainty_finite(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """DiffChaser's k-uncertainty: how close the k largest probabilities are."""
        return indecision(f, g, k)

    def answers(self, outputs: Outputs) -> NDArray[np.int64]:
        """The label, int64 ``(N, 1)``; see :meth:`ProbabilisticComparison.answers`."""
        labels: NDArray[np.int64] = outputs.argmax(axis=1, keepdims=True)
        return labels

    def classes(self, outputs: Outputs) -> NDArray[np.int64]:
        """See :meth:`.Comparison.classes`."""
        labels: NDArray[np.int64] = outputs.argmax(axis=1)
        return labels

    def chances(self, f: Outputs, g: Outputs) -> tuple[Outputs, Outputs]:
        """The softmax, if outputs are logits; see :meth:`.Comparison.chances`."""
        return as_probabilities(*replace_nonfinite(f, g))

    def sureness(
        self, f: Outputs, g: Outputs, expected: NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        """See :meth:`ProbabilisticComparison.sureness`."""
        others = g.copy()
        np.put_along_axis(others, expected, -np.inf, axis=1)
        return np.take_along_axis(f, expected, axis=1)[:, 0], others.max(axis=1)


@COMPARISONS.register("multi_label")
class MultiLabelComparison(Comparison):
    """Compares several labels, each with its own probability: models deviate if one differs.

    Args:
        options: the thresholds.
        shape: the shape of the outputs; all of a row are labels.
    """

    class Options(ParameterSection):
        """The thresholds from which labels are present."""

        thresholds: list[float] = Field(
            default=[0.5],
            min_length=1,
            description="score from which each label is there, or one for all",
        )

    def __init__(self, options: Options, shape: tuple[int, ...]) -> None:
        super().__init__(options, shape)
        if len(options.thresholds) not in (1, math.prod(shape)):
            raise UserError(
                f"comparison multi_label has {len(options.thresholds)} thresholds, but the "
                f"models tell {math.prod(shape)} labels apart"
            )
        self._thresholds = np.array(options.thresholds, np.float32)

    def deviates_finite(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.Comparison.deviates_finite`."""
        different: NDArray[np.bool_] = (self.answers(f) != self.answers(g)).any(axis=1)
        return different

    def distance_finite(self, f: Outputs, g: Outputs) -> Floats:
        """The largest difference of a label's two probabilities."""
        largest: Floats = np.abs(f - g).max(axis=1)
        return largest

    def uncertainty_finite(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """How close a label is to its threshold: the (k - 1)-th closest of the less decided model.

        With k = 2, which is between a label and its absence, it is the closest.
        """
        closeness = []
        for outputs in (f, g):
            gaps = np.sort(np.abs(outputs - self._thresholds), axis=1)
            closeness.append(1 - gaps[:, min(max(k, 2), gaps.shape[1] + 1) - 2])
        least: Floats = np.maximum(*closeness)
        return least

    def answers(self, outputs: Outputs) -> NDArray[np.int64]:
        """1 per present label, int64 ``(N, K)``; see :meth:`.ProbabilisticComparison.answers`."""
        return (outputs >= self._thresholds).astype(np.int64)

    def classes(self, outputs: Outputs) -> NDArray[np.int64] | None:
        """Whether the label is present, if there is only one; see :meth:`.Comparison.classes`."""
        return self.answers(outputs)[:, 0] if outputs.shape[1] == 1 else None

    def sureness(
        self, f: Outputs, g: Outputs, expected: NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        """See :meth:`ProbabilisticComparison.sureness`."""
        there = expected.astype(np.bool_)
        wrong = np.where(there, 1 - g, g)
        worst = wrong.argmax(axis=1, keepdims=True)
        right = np.take_along_axis(np.where(there, f, 1 - f), worst, axis=1)
        return right[:, 0], np.take_along_axis(wrong, worst, axis=1)[:, 0]
