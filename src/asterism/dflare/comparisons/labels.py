"""Classifiers: one label, or several that are each there or not."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import NoOptions
from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import COMPARISONS, ChosenComparison, Floats, Outputs, undecided

_NO_OPTIONS = NoOptions()


@COMPARISONS.register("top_label")
class TopLabel(ChosenComparison):
    """Classifiers: they deviate where their most probable labels differ.

    Args:
        options: there are none.
        shape: not needed: all of a row are labels.
    """

    def __init__(self, options: NoOptions = _NO_OPTIONS, shape: tuple[int, ...] = ()) -> None:
        super().__init__(options, shape)

    def deviates(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`Comparison.deviates`."""
        different: NDArray[np.bool_] = f.argmax(axis=1) != g.argmax(axis=1)
        return different

    def distance(self, f: Outputs, g: Outputs) -> Floats:
        """The difference of the two top-1 probabilities: Dflare's D."""
        difference: Floats = np.abs(f.max(axis=1) - g.max(axis=1))
        return difference

    def uncertainty(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """DiffChaser's k-uncertainty: how close the k largest probabilities are."""
        return undecided(f, g, k)

    def answers(self, outputs: Outputs) -> NDArray[np.int64]:
        """The label, int64 ``(N, 1)``; see :meth:`Certain.answers`."""
        labels: NDArray[np.int64] = outputs.argmax(axis=1, keepdims=True)
        return labels

    def sureness(
        self, f: Outputs, g: Outputs, expected: NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        """See :meth:`Certain.sureness`."""
        others = g.copy()
        np.put_along_axis(others, expected, -np.inf, axis=1)
        return np.take_along_axis(f, expected, axis=1)[:, 0], others.max(axis=1)


class MultiLabelOptions(ParameterSection):
    """When a label is there."""

    thresholds: list[float] = Field(
        min_length=1, description="score from which each label is there, or one for all"
    )


@COMPARISONS.register("multi_label")
class MultiLabel(ChosenComparison):
    """Several labels, each with a probability of its own: any of them there and not there.

    Args:
        options: the thresholds.
        shape: of the outputs; all of a row are labels.
    """

    Options = MultiLabelOptions

    def __init__(self, options: MultiLabelOptions, shape: tuple[int, ...]) -> None:
        super().__init__(options, shape)
        if len(options.thresholds) not in (1, math.prod(shape)):
            raise UserError(
                f"comparison multi_label has {len(options.thresholds)} thresholds, but the "
                f"models tell {math.prod(shape)} labels apart"
            )
        self._thresholds = np.array(options.thresholds, np.float32)

    def deviates(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`Comparison.deviates`."""
        different: NDArray[np.bool_] = (self.answers(f) != self.answers(g)).any(axis=1)
        return different

    def distance(self, f: Outputs, g: Outputs) -> Floats:
        """The largest difference of a label's two probabilities."""
        largest: Floats = np.abs(f - g).max(axis=1)
        return largest

    def uncertainty(self, f: Outputs, g: Outputs, k: int) -> Floats:
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
        """1 for each label that is there, int64 ``(N, K)``; see :meth:`Certain.answers`."""
        return (outputs >= self._thresholds).astype(np.int64)

    def sureness(
        self, f: Outputs, g: Outputs, expected: NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        """See :meth:`Certain.sureness`."""
        there = expected.astype(np.bool_)
        wrong = np.where(there, 1 - g, g)
        worst = wrong.argmax(axis=1, keepdims=True)
        right = np.take_along_axis(np.where(there, f, 1 - f), worst, axis=1)
        return right[:, 0], np.take_along_axis(wrong, worst, axis=1)[:, 0]
