"""Detections: boxes that are matched by how much they overlap."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import (
    COMPARISONS,
    ChosenComparison,
    Floats,
    Outputs,
    frames_of,
)

Boxes = NDArray[np.float64]


class BoxesOptions(ParameterSection):
    """What the columns of a detection hold, and which detections are the same."""

    box: int = Field(ge=0, description="first of the four columns of the box")
    form: Literal["corners", "size"] = Field(
        description="corners: left, top, right, bottom; size: left, top, width, height"
    )
    score: int = Field(ge=0, description="column of the score")
    label: int | None = Field(ge=0, description="column of the label; null: there is one only")
    threshold: float = Field(description="score from which a detection counts")
    overlap: float = Field(gt=0, le=1, description="intersection over union of the same thing")


@COMPARISONS.register("boxes")
class BoxComparison(ChosenComparison):
    """Detectors: they deviate where one finds something that the other does not.

    Detections of both models are matched one to one, those of the largest overlap first, where
    labels are equal and the overlap is large enough.

    Args:
        options: see :class:`BoxesOptions`.
        shape: ``(B, columns)``: B detections.
    """

    Options = BoxesOptions

    def __init__(self, options: BoxesOptions, shape: tuple[int, ...]) -> None:
        super().__init__(options, frames_of("boxes", shape))
        last = max(options.box + 3, options.score, options.label or 0)
        if last >= self.shape[1]:
            raise UserError(
                f"comparison boxes names column {last}, but a detection has {self.shape[1]}"
            )

    def deviates(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`Comparison.deviates`."""
        found = [
            len(one) != len(other) or len(_matches(one, other, self.options)) < len(one)
            for one, other in self._pairs(f, g)
        ]
        return np.array(found, np.bool_)

    def distance(self, f: Outputs, g: Outputs) -> Floats:
        """One minus the mean agreement of the detections.

        Two that match agree by their overlap times one minus the difference of their scores, one
        without a partner not at all.
        """
        distances = []
        score = self.options.score
        for one, other in self._pairs(f, g):
            agreement = sum(
                overlap * (1 - min(1.0, abs(one[i, score] - other[j, score])))
                for i, j, overlap in _matches(one, other, self.options)
            )
            most = max(len(one), len(other))
            distances.append(1 - agreement / most if most else 0.0)
        return np.array(distances, np.float32)

    def uncertainty(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """How close a detection's score is to the threshold, of the model that is less decided."""
        column, threshold = self.options.score, np.float32(self.options.threshold)
        gaps = [
            np.abs(self.unfolded(outputs)[:, :, column] - threshold).min(axis=1)
            for outputs in (f, g)
        ]
        closest: Floats = 1 - np.minimum(*gaps)
        return closest

    def _pairs(self, f: Outputs, g: Outputs) -> list[tuple[Boxes, Boxes]]:
        """The detections that count, of both models for each input."""
        both = [self.unfolded(outputs).astype(np.float64) for outputs in (f, g)]
        kept = [b[:, :, self.options.score] >= self.options.threshold for b in both]
        return [
            (one[first], other[second])
            for one, other, first, second in zip(both[0], both[1], *kept, strict=True)
        ]


def _matches(one: Boxes, other: Boxes, options: BoxesOptions) -> list[tuple[int, int, float]]:
    """Pairs of rows that are the same detection, and their overlaps."""
    overlaps = _overlaps(_corners(one, options), _corners(other, options))
    if options.label is not None:
        same = one[:, np.newaxis, options.label] == other[np.newaxis, :, options.label]
        overlaps = np.where(same, overlaps, 0)
    matches = []
    order = np.argsort(-overlaps, axis=None, kind="stable")
    free_one, free_other = set(range(len(one))), set(range(len(other)))
    for place in order.tolist():
        i, j = divmod(place, len(other))
        if overlaps[i, j] < options.overlap:
            break
        if i in free_one and j in free_other:
            matches.append((i, j, float(overlaps[i, j])))
            free_one.remove(i)
            free_other.remove(j)
    return matches


def _corners(detections: Boxes, options: BoxesOptions) -> Boxes:
    """Left, top, right and bottom of each, ``(n, 4)``."""
    corners: Boxes = detections[:, options.box : options.box + 4].copy()
    if options.form == "size":
        corners[:, 2:] += corners[:, :2]
    return corners


def _overlaps(one: Boxes, other: Boxes) -> NDArray[np.float64]:
    """Intersection over union of each of one and each of the other, ``(n, m)``."""
    first, second = one[:, np.newaxis], other[np.newaxis]
    begin = np.maximum(first[..., :2], second[..., :2])
    end = np.minimum(first[..., 2:], second[..., 2:])
    shared = np.maximum(0, end - begin).prod(axis=-1)
    sizes = [np.maximum(0, b[..., 2:] - b[..., :2]).prod(axis=-1) for b in (first, second)]
    union = sizes[0] + sizes[1] - shared
    overlaps: NDArray[np.float64] = np.where(union > 0, shared / np.where(union > 0, union, 1), 0)
    return overlaps
