"""Testing whether a model predicts the labels better than by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asterism.core.statistics import exact_interval

Labels = NDArray[np.int64]

#: What is right as often as this is no chance, even where all inputs have one label.
_MOSTLY = 0.9
#: Confidence with which answers have to be better than chance.
_SURE = 0.95


def right_of(rows: NDArray[np.float32], labels: Labels | None) -> float:
    """The share of rows whose largest number is at the label's place; 0 without labels."""
    if labels is None or not len(labels):
        return 0.0
    return float((rows.argmax(axis=1) == labels).mean())


def renumbered(told: Labels, labels: Labels) -> str:
    """What makes answers right that are right by chance only: labels numbered from another one.

    Files with a class for the background, as those of 1,001 classes of ImageNet, begin one later.
    """
    for step, way in ((1, "one more"), (-1, "one less")):
        right = (told == labels + step).mean()
        if not by_chance(told, labels + step, 2):
            return f"with each label {way} it is right on {right:.0%}; "
    return ""


def by_chance(told: Labels, labels: Labels | None, tries: int = 1) -> bool:
    """Whether answers are right no more often than if they had nothing to do with labels.

    That is the agreement that Cohen (1960) expects by chance: the sum over classes of the share
    of answers times the share of labels. Without labels it is not known, so they may be.

    Args:
        told: the answers, at least 0; -1 for none.
        labels: the right ones.
        tries: how many answers were tried, of which these are the best; one of many is better
            than chance by chance (Bonferroni).
    """
    if labels is None or not len(labels):
        return True
    right = int((told == labels).sum())
    if right >= _MOSTLY * len(labels):
        return False
    count = int(max(told.max(), labels.max())) + 1
    shares = [np.bincount(those[those >= 0], minlength=count) for those in (told, labels)]
    expected = float(shares[0] @ shares[1]) / len(labels) ** 2
    low, _ = exact_interval(right, len(labels), 1 - (1 - _SURE) / tries)
    return low <= expected
