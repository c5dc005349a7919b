"""Detections: boxes that are matched by how much they overlap."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import (
    COMPARISONS,
    AgreementFigure,
    Comparison,
    Floats,
    Outputs,
    frames_of,
)

Boxes = NDArray[np.float64]

#: Columns of a detection that counts, behind its four corners.
_SCORE, _LABEL = 4, 5


@COMPARISONS.register("boxes")
class BoxComparison(Comparison):
    """Compares detectors: they deviate if one finds something that the other does not.

    Detections of both models are matched one to one, those of the largest overlap first, where
    labels are equal and the overlap is large enough.

    Args:
        options: see :class:`BoxComparison.Options`.
        shape: ``(B, columns)``: B detections, or ``(columns, B)``; of several outputs, the length
            of a row.
    """

    class Options(ParameterSection):
        """The columns of a detection, and when two detections are the same."""

        rows: Literal["first", "last"] = Field(
            default="first", description="the axis that counts detections; the other holds columns"
        )
        outputs: list[int] | None = Field(
            default=None,
            min_length=1,
            description="of several outputs: the columns that each holds of a detection, in their "
            "order, 0 of one that holds the number of detections; null: there is one output",
        )
        box: int = Field(default=0, ge=0, description="first of the four columns of the box")
        form: Literal["corners", "size", "centre"] = Field(
            default="corners",
            description="corners: left, top, right, bottom; size: left, top, width, height; "
            "centre: middle, middle, width, height",
        )
        score: int = Field(default=4, ge=0, description="first column of scores")
        classes: int = Field(
            default=1, ge=1, description="columns of scores; of several, the largest is the label's"
        )
        objectness: int | None = Field(
            default=None,
            ge=0,
            description="column that says whether there is anything, by which scores are "
            "multiplied; null: scores say so themselves",
        )
        label: int | None = Field(
            default=None,
            ge=0,
            description="column of the label; null: scores tell, or there is one",
        )
        threshold: float = Field(default=0.5, description="score from which a detection counts")
        suppress: float | None = Field(
            default=None,
            gt=0,
            le=1,
            description="overlap above which the detection of the smaller score goes (suppression "
            "of non-maxima); null: the models have done so",
        )
        overlap: float = Field(
            default=0.5, gt=0, le=1, description="intersection over union of the same thing"
        )

    several = True

    def __init__(self, options: Options, shape: tuple[int, ...]) -> None:
        super().__init__(options, _table(options, shape))
        named = (options.label or 0, options.objectness or 0)
        last = max(options.box + 3, options.score + options.classes - 1, *named)
        if last >= self.shape[1]:
            raise UserError(
                f"comparison boxes names column {last}, but a detection has {self.shape[1]}"
            )

    def deviates_finite(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.Comparison.deviates_finite`."""
        found = [
            len(one) != len(other) or len(_matches(one, other, self.options.overlap)) < len(one)
            for one, other in self._pairs(f, g)
        ]
        return np.array(found, np.bool_)

    def distance_finite(self, f: Outputs, g: Outputs) -> Floats:
        """One minus the mean agreement of the detections.

        Two that match agree by their overlap times one minus the difference of their scores, one
        without a partner not at all.
        """
        distances = []
        for one, other in self._pairs(f, g):
            agreement = sum(
                overlap * (1 - min(1.0, abs(one[i, _SCORE] - other[j, _SCORE])))
                for i, j, overlap in _matches(one, other, self.options.overlap)
            )
            most = max(len(one), len(other))
            distances.append(1 - agreement / most if most else 0.0)
        return np.array(distances, np.float32)

    def uncertainty_finite(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """How close a detection's score is to the threshold, in the less decided model."""
        threshold = self.options.threshold
        gaps = [np.abs(_scores(both, self.options) - threshold) for both in self._tables(f, g)]
        closest: Floats = (1 - np.minimum(*[gap.min(axis=1) for gap in gaps])).astype(np.float32)
        return closest

    def figures(self, f: Outputs, g: Outputs) -> tuple[AgreementFigure, ...]:
        """See :meth:`.Comparison.figures`."""
        found = [sum(map(len, detections)) for detections in zip(*self._pairs(f, g), strict=True)]
        return (
            AgreementFigure("detections of the original", float(found[0])),
            AgreementFigure("detections of the compressed model", float(found[1])),
        )

    def _pairs(self, f: Outputs, g: Outputs) -> list[tuple[Boxes, Boxes]]:
        """The detections that count, of both models for each input.

        Each is left, top, right, bottom, score, label.
        """
        sides = []
        for table in self._tables(f, g):
            scores = _scores(table, self.options)
            told = np.concatenate(
                [_corners(table, self.options), _with_label(table, scores, self.options)], axis=2
            )
            kept = scores >= self.options.threshold
            found = [rows[those] for rows, those in zip(told, kept, strict=True)]
            most = self.options.suppress
            sides.append(found if most is None else [_suppressed(rows, most) for rows in found])
        return list(zip(*sides, strict=True))

    def _tables(self, f: Outputs, g: Outputs) -> list[Boxes]:
        """All detections of each model, float64 ``(N, B, columns)``."""
        return [self._table(outputs.astype(np.float64)) for outputs in (f, g)]

    def _table(self, rows: Boxes) -> Boxes:
        count, columns = self.shape
        if self.options.outputs is None:
            if self.options.rows == "first":
                return rows.reshape(len(rows), count, columns)
            return rows.reshape(len(rows), columns, count).transpose(0, 2, 1)
        parts, start = [], 0
        valid = np.full(len(rows), count)
        for width in self.options.outputs:
            size = width * count or 1
            part = rows[:, start : start + size]
            if width:
                parts.append(part.reshape(len(rows), count, width))
            else:
                valid = np.clip(part[:, 0], 0, count).astype(np.int64)
            start += size
        table: Boxes = np.concatenate(parts, axis=2)
        beyond = np.arange(count) >= valid[:, np.newaxis]
        # What stands behind the number of detections is none.
        table[..., self.options.score : self.options.score + self.options.classes][beyond] = -np.inf
        return table


def _table(options: BoxComparison.Options, shape: tuple[int, ...]) -> tuple[int, int]:
    """Detections and columns in outputs of this shape.

    Raises:
        UserError: it is no shape of detections.
    """
    if options.outputs is None:
        first, last = frames_of("boxes", shape)
        return (first, last) if options.rows == "first" else (last, first)
    columns, length = sum(options.outputs), math.prod(shape) - options.outputs.count(0)
    if not columns or length <= 0 or length % columns:
        raise UserError(
            f"comparison boxes has {columns} columns in all, but a row of outputs has {length}"
        )
    return length // columns, columns


def _scores(table: Boxes, options: BoxComparison.Options) -> Boxes:
    """The score of each detection, ``(N, B)``."""
    largest: Boxes = table[..., options.score : options.score + options.classes].max(axis=-1)
    if options.objectness is not None:
        largest = largest * table[..., options.objectness]
    return largest


def _with_label(table: Boxes, scores: Boxes, options: BoxComparison.Options) -> Boxes:
    """Score and label of each detection, ``(N, B, 2)``."""
    if options.label is not None:
        labels = table[..., options.label]
    else:
        labels = table[..., options.score : options.score + options.classes].argmax(axis=-1)
    return np.stack([scores, labels], axis=-1)


def _suppressed(detections: Boxes, most: float) -> Boxes:
    """Detections without those that overlap one of a larger score and the same label."""
    left = detections[np.argsort(-detections[:, _SCORE], kind="stable")]
    kept = []
    while len(left):
        kept.append(left[:1])
        near = _overlaps(left[:1, :4], left[:, :4])[0] > most
        same = left[:, _LABEL] == left[0, _LABEL]
        own = np.arange(len(left)) == 0
        left = left[~(near & same | own)]
    return np.concatenate([detections[:0], *kept])


def _matches(one: Boxes, other: Boxes, least: float) -> list[tuple[int, int, float]]:
    """Pairs of rows that are the same detection, and their overlaps, which are at least so."""
    overlaps = _overlaps(one[:, :4], other[:, :4])
    same = one[:, np.newaxis, _LABEL] == other[np.newaxis, :, _LABEL]
    overlaps = np.where(same, overlaps, 0)
    matches = []
    order = np.argsort(-overlaps, axis=None, kind="stable")
    free_one, free_other = set(range(len(one))), set(range(len(other)))
    for place in order.tolist():
        i, j = divmod(place, len(other))
        if overlaps[i, j] < least:
            break
        if i in free_one and j in free_other:
            matches.append((i, j, float(overlaps[i, j])))
            free_one.remove(i)
            free_other.remove(j)
    return matches


def _corners(table: Boxes, options: BoxComparison.Options) -> Boxes:
    """Left, top, right and bottom of each, ``(N, B, 4)``."""
    corners: Boxes = table[..., options.box : options.box + 4].copy()
    if options.form == "centre":
        corners[..., :2] -= corners[..., 2:] / 2
    if options.form != "corners":
        corners[..., 2:] += corners[..., :2]
    return corners


def _overlaps(one: Boxes, other: Boxes) -> NDArray[np.float64]:
    """Intersection over union of each of one and each of the other, ``(n, m)``.

    Equal boxes without an area overlap fully.
    """
    first, second = one[:, np.newaxis], other[np.newaxis]
    begin = np.maximum(first[..., :2], second[..., :2])
    end = np.minimum(first[..., 2:], second[..., 2:])
    shared = np.maximum(0, end - begin).prod(axis=-1)
    sizes = [np.maximum(0, b[..., 2:] - b[..., :2]).prod(axis=-1) for b in (first, second)]
    union = sizes[0] + sizes[1] - shared
    overlaps: NDArray[np.float64] = np.where(union > 0, shared / np.where(union > 0, union, 1), 0)
    return np.where((first == second).all(axis=-1), 1.0, overlaps)
