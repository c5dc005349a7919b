"""Softmax, and whether a model's outputs are probabilities or logits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import get_logger

log = get_logger(__name__)

Floats = NDArray[np.float32]

#: Said of a classifier whose softmax cannot be left off.
FROM_PROBABILITIES = (
    "attacks and relevance start from probabilities, not from logits: behind its softmax the model "
    "has layers that do more than reshape one vector"
)

#: How far a probability may lie outside of [0, 1], and a sum of them from 1, by rounding.
_OUTSIDE, _SUM = 1e-3, 0.05


def softmax(logits: Floats) -> Floats:
    """Softmax along the last axis, float32 ``(..., K)``."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    normalised: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return normalised


def are_logits(outputs: Floats, step: float = 0.0) -> bool:
    """Whether a model's outputs are no probabilities, as far as their values tell.

    Args:
        outputs: finite, ``(N, K)``, for inputs as different as can be.
        step: distance of neighbouring values where outputs are quantised: each of the K may be off
            by that, so that those of many classes add up to anything.
    """
    in_range = outputs.min() >= -_OUTSIDE and outputs.max() <= 1 + _OUTSIDE
    tolerance = _SUM + outputs.shape[1] * step
    return not (in_range and np.abs(outputs.sum(axis=1) - 1).max() <= tolerance)


def notes_on_scores(scores: NDArray[np.float32]) -> list[str]:
    """What there is to say of scores ``(N, K)`` that were to be logits, which is logged as well."""
    if are_logits(scores):
        return []
    log.warning(FROM_PROBABILITIES)
    return [FROM_PROBABILITIES]
