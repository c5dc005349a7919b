"""Scores over frames, as of a detector of speech or notes: how many frames differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import (
    COMPARISONS,
    Comparison,
    Floats,
    Outputs,
    frames_of,
    indecision,
)


@COMPARISONS.register("frame_scores")
class FrameScoresComparison(Comparison):
    """Compares scores of frames: models deviate if more than a share of frames differ.

    Args:
        options: see :class:`FrameScoresComparison.Options`.
        shape: ``(T, C)``: T frames of C scores each.
    """

    class Options(ParameterSection):
        """When frames differ, and how many may."""

        threshold: float | None = Field(
            default=0.5,
            description="score from which something is there in a frame; null: the "
            "largest score wins",
        )
        share: float = Field(
            default=0.0, ge=0, lt=1, description="share of the frames that may differ"
        )

    def __init__(self, options: Options, shape: tuple[int, ...]) -> None:
        super().__init__(options, frames_of("frame_scores", shape))

    def deviates_finite(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.Comparison.deviates_finite`."""
        different = (self._answers(f) != self._answers(g)).any(axis=2)
        share: NDArray[np.bool_] = different.sum(axis=1) > self.options.share * self.shape[0]
        return share

    def distance_finite(self, f: Outputs, g: Outputs) -> Floats:
        """The mean over frames of the largest difference of a score."""
        largest = np.abs(self.unfolded(f) - self.unfolded(g)).max(axis=2)
        mean: Floats = largest.mean(axis=1, dtype=np.float32)
        return mean

    def uncertainty_finite(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """The mean over frames of how undecided one is, by the threshold or between k scores."""
        one, other = self.unfolded(f), self.unfolded(g)
        if self.options.threshold is None:
            frames = indecision(one, other, k)
        else:
            threshold = np.float32(self.options.threshold)
            gaps = [np.abs(scores - threshold).min(axis=2) for scores in (one, other)]
            frames = 1 - np.minimum(*gaps)
        mean: Floats = frames.mean(axis=1, dtype=np.float32)
        return mean

    def _answers(self, outputs: Outputs) -> NDArray[np.int64]:
        """What each frame says, int64 ``(N, T, ...)``."""
        scores = self.unfolded(outputs)
        if self.options.threshold is None:
            winners: NDArray[np.int64] = scores.argmax(axis=2, keepdims=True)
            return winners
        there: NDArray[np.bool_] = scores >= self.options.threshold
        return there.astype(np.int64)
