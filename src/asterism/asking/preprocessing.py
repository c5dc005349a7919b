"""The preprocessing of pictures: the usual ones are tried on the original."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.asking.chance import right_of
from asterism.asking.original import Look
from asterism.dflare.comparisons.labels import probabilities
from asterism.models.keras_models.preprocessing import PreprocessingParams
from asterism.models.signatures.signature import TensorSpec

#: The one that is taken where nothing speaks for another, and the one that needs no trial of
#: channels, since it is the file's own.
_USUAL = "unit"
#: What another has to be better by, as accuracy or as probability of the first class.
_BETTER = 0.02
#: Without labels, a mean probability so far above the usual one's is a hint.
_MORE_CONFIDENT = 0.1
#: How far the ends of ranges may be apart, as a share of the range.
_SAME_RANGE = 0.15


@dataclass(frozen=True)
class Tried:
    """One preprocessing that was tried on the original.

    Attributes:
        name: of the preprocessing, a file of ``conf/preprocessing``.
        channels: ``rgb`` or ``bgr``.
        accuracy: the share of inputs that the original then gets right; None without labels.
        confidence: its mean probability of the class that it answers; None where it gives none.
    """

    name: str
    channels: str
    accuracy: float | None
    confidence: float | None

    def __str__(self) -> str:
        told = self.name if self.channels == "rgb" else f"{self.name}, {self.channels}"
        value = self.accuracy if self.accuracy is not None else self.confidence
        return told if value is None else f"{told} {value:.1%}"


def try_preprocessing(
    known: Mapping[str, PreprocessingParams],
    colours: bool,
    ask: Callable[[PreprocessingParams, str], Look],
) -> list[Tried]:
    """Try each preprocessing on the original.

    Args:
        known: the preprocessings by name.
        colours: whether pictures have channels that may be the other way round.
        ask: what the original answers under one of them and an order of channels.
    """
    found = []
    for name, channels in product(known, ("rgb", "bgr") if colours else ("rgb",)):
        told = _class_scores(ask(known[name], channels))
        if told is None:
            found.append(Tried(name, channels, None, None))
            continue
        rows, labels = told
        accuracy = None if labels is None else right_of(rows, labels)
        chances = probabilities(rows, rows)[0]
        found.append(Tried(name, channels, accuracy, float(chances.max(axis=1).mean())))
    return found


def _class_scores(found: Look) -> tuple[NDArray[np.float32], NDArray[np.int64] | None] | None:
    """The rows of the first output that may be scores of the labels' classes."""
    least = 2 if found.labels is None else int(found.labels.max()) + 1
    for output in found.outputs:
        rows = output.values.reshape(len(output.values), -1)
        if sum(size > 1 for size in output.shape) == 1 and rows.shape[1] >= least and len(rows):
            return rows, found.labels
    return None


def best(tried: Sequence[Tried]) -> tuple[Tried, str]:
    """The preprocessing to take, and why: the most accurate, without labels the most confident."""
    usual = next((one for one in tried if one.name == _USUAL), tried[0])
    others = ", ".join(map(str, tried))
    if usual.accuracy is not None:
        top = max(tried, key=lambda one: one.accuracy or 0.0)
        if (top.accuracy or 0.0) < usual.accuracy + _BETTER:
            top = usual
        return top, f"the original is right most often so ({others})"
    if usual.confidence is None:
        return usual, "usual, and the outputs do not tell another"
    # Larger numbers make any model more confident, so grey levels as they are count last.
    scaled = [one for one in tried if one.name != "raw" and one.channels == "rgb"]
    top = max(scaled or [usual], key=lambda one: one.confidence or 0.0)
    if (top.confidence or 0.0) < usual.confidence + _MORE_CONFIDENT:
        return usual, f"usual; without labels the original's confidence is a hint only ({others})"
    return top, f"a hint: without labels the original is most confident so ({others})"


def of_range(
    spec: TensorSpec, known: Mapping[str, PreprocessingParams], pictures: NDArray[Any]
) -> str | None:
    """The preprocessing whose numbers fill the range that a quantised input keeps; None if none."""
    if spec.calibrated is None:
        return None
    low, high = spec.calibrated
    gaps = {}
    for name, preprocessing in known.items():
        values = preprocessing.apply(pictures)
        # A calibrated range holds 0, whatever the pictures are.
        ends = min(0.0, float(values.min())), max(0.0, float(values.max()))
        gaps[name] = max(abs(ends[0] - low), abs(ends[1] - high)) / (high - low)
    name = min(gaps, key=lambda one: gaps[one])
    return name if gaps[name] <= _SAME_RANGE else None
