"""Sequences that are read from scores over frames, such as transcripts: compared word by word."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from rapidfuzz.distance import Levenshtein

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import (
    COMPARISONS,
    Comparison,
    Floats,
    Outputs,
    frames_of,
    indecision,
)
from asterism.models.images_and_scores import softmax


@COMPARISONS.register("sequence")
class SequenceComparison(Comparison):
    """Compares transcripts: models deviate if their error rate is above a tolerance.

    The error rate is the edit distance over the length of the original's transcript, in words or
    symbols.

    Args:
        options: see :class:`SequenceComparison.Options`.
        shape: ``(T, C)``: T frames of scores of C symbols.
    """

    class Options(ParameterSection):
        """How scores are read, and the error rate up to which models do not deviate."""

        decoding: Literal["argmax", "ctc"] = Field(
            default="ctc",
            description="argmax: a symbol for each frame; ctc: repetitions and blanks go",
        )
        blank: int | None = Field(
            default=0, ge=0, description="the symbol that is no symbol; null: there is none"
        )
        symbols: list[str] | None = Field(
            default=None,
            description="the text of each symbol; null: symbols are compared as they are",
        )
        unit: Literal["symbol", "word"] = Field(
            default="symbol",
            description="what is counted: symbols, or words, which need symbols or a separator",
        )
        separator: int | None = Field(
            default=None, ge=0, description="the symbol between words, where symbols have no texts"
        )
        tolerance: float = Field(default=0.0, ge=0, description="error rate that is no deviation")
        scores: Literal["probabilities", "logits"] = Field(
            default="probabilities",
            description="what the models give for a frame; log-probabilities are logits too",
        )

    def __init__(self, options: Options, shape: tuple[int, ...]) -> None:
        super().__init__(options, frames_of("sequence", shape))
        classes = self.shape[1]
        if options.symbols is not None and len(options.symbols) != classes:
            raise UserError(
                f"comparison sequence has {len(options.symbols)} symbols, but the models score "
                f"{classes}"
            )
        if options.unit == "word" and (options.symbols is None) == (options.separator is None):
            raise UserError(
                "comparison sequence counts words, which need the symbols' texts or a separator"
            )
        if (options.blank is None) == (options.decoding == "ctc") or (
            options.blank or 0
        ) >= classes:
            raise UserError(
                f"comparison sequence by {options.decoding} has {options.blank} as its blank: ctc "
                f"needs one of 0 to {classes - 1}, argmax none"
            )

    def deviates_finite(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.Comparison.deviates_finite`."""
        rates = self.error_rates(f, g)
        above: NDArray[np.bool_] = rates > self.options.tolerance
        return above

    def error_rates(self, f: Outputs, g: Outputs) -> NDArray[np.float64]:
        """The error rate of each of g's transcripts, float64 ``(N,)``."""
        labels = [self.unfolded(outputs).argmax(axis=2) for outputs in (f, g)]
        rates = np.zeros(len(f))
        for row in np.flatnonzero((labels[0] != labels[1]).any(axis=1)).tolist():
            right, found = (self.transcript(frames[row]) for frames in labels)
            rates[row] = Levenshtein.distance(right, found) / max(1, len(right))
        return rates

    def transcript(self, labels: NDArray[np.int64]) -> list[str]:
        """The words or symbols that the labels of all frames, int64 ``(T,)``, stand for."""
        if self.options.decoding == "ctc":
            changed = np.concatenate([[True], labels[1:] != labels[:-1]])
            labels = labels[changed & (labels != self.options.blank)]
        if self.options.symbols is None:
            return self._words(labels) if self.options.unit == "word" else list(map(str, labels))
        read = [self.options.symbols[label] for label in labels.tolist()]
        return "".join(read).split() if self.options.unit == "word" else read

    def _words(self, labels: NDArray[np.int64]) -> list[str]:
        """The words between separators, each as the numbers of its symbols."""
        ends = np.flatnonzero(labels == self.options.separator)
        parts = [part[part != self.options.separator] for part in np.split(labels, ends)]
        return [" ".join(map(str, part)) for part in parts if len(part)]

    def distance_finite(self, f: Outputs, g: Outputs) -> Floats:
        """The mean over frames of half the sum of the probabilities' differences.

        That is the total variation of two distributions.
        """
        half = np.abs(self._probabilities(f) - self._probabilities(g)).sum(axis=2) / 2
        mean: Floats = half.mean(axis=1, dtype=np.float32)
        return mean

    def uncertainty_finite(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """How undecided the most undecided frame is between k symbols."""
        most: Floats = indecision(self._probabilities(f), self._probabilities(g), k).max(axis=1)
        return most

    def _probabilities(self, outputs: Outputs) -> NDArray[np.float32]:
        """Probabilities of symbols, float32 ``(N, T, C)``; of logits the softmax."""
        scores = self.unfolded(outputs)
        return softmax(scores) if self.options.scores == "logits" else scores
