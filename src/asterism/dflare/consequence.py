"""Consequential triggering inputs: the original is sure and right, the compressed model wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import Comparison, Floats, Outputs, ProbabilisticComparison

Expected = NDArray[np.int64]

#: Probabilities are told apart from 0 down to this; close to 1 float32 cannot.
_SMALLEST, _LARGEST = 1e-30, 1 - 1e-9


class ConsequenceParams(ParameterSection):
    """How sure both models have to be for a deviation to matter."""

    original: float = Field(
        gt=0.5, lt=1, description="smallest probability that the original gives to the right answer"
    )
    compressed: float = Field(
        ge=0.5, lt=1, description="smallest probability that the other gives to a wrong answer"
    )


@dataclass(frozen=True)
class Consequence:
    """Judges how much deviations matter.

    Attributes:
        certain: the comparison, which knows answers and their probabilities.
        original: smallest probability that the original gives to the right answer.
        compressed: smallest probability that the compressed model gives to a wrong one.
    """

    certain: ProbabilisticComparison
    original: float
    compressed: float

    @classmethod
    def of(cls, comparison: Comparison, params: ConsequenceParams) -> Consequence:
        """The judge for a comparison's outputs.

        Raises:
            UserError: the outputs have no answers with probabilities.
        """
        if not isinstance(comparison, ProbabilisticComparison):
            raise UserError(
                "consequence needs outputs that are labels with probabilities; "
                f"{type(comparison).__name__} compares others"
            )
        return cls(comparison, params.original, params.compressed)

    def holds(self, f: Outputs, g: Outputs, expected: Expected) -> NDArray[np.bool_]:
        """Whether each deviation is consequential, bool ``(N,)``; arguments as for ``sureness``."""
        right, wrong = self.certain.sureness(f, g, expected)
        return (right >= self.original) & (wrong >= self.compressed)

    def nearness(self, f: Outputs, g: Outputs, expected: Expected) -> Floats:
        """How near inputs are to a consequential deviation, float32 ``(N,)``.

        The log odds of the right answer of the original and of a wrong one of the compressed
        model, each counted up to what is asked for, added up. Log odds tell apart also what is
        close to 0. The largest value is that of all consequential inputs.
        """
        right, wrong = self.certain.sureness(f, g, expected)
        near: Floats = np.minimum(_log_odds(right), _log_odds(np.float32(self.original)))
        return near + np.minimum(_log_odds(wrong), _log_odds(np.float32(self.compressed)))


def _log_odds(probabilities: Floats | np.float32) -> Floats:
    inside = np.clip(np.asarray(probabilities, np.float64), _SMALLEST, _LARGEST)
    odds: NDArray[np.float64] = np.log(inside) - np.log1p(-inside)
    return odds.astype(np.float32)
