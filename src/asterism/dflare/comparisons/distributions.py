"""Distributions over a vocabulary, as of a language model: how far apart they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import (
    COMPARISONS,
    AgreementFigure,
    Comparison,
    Floats,
    Outputs,
    indecision,
)

Scores = NDArray[np.float64]


@COMPARISONS.register("token_distribution")
class TokenDistributionComparison(Comparison):
    """Compares language models by the distributions of their next tokens.

    Args:
        options: see :class:`TokenDistributionComparison.Options`.
        shape: ``(V,)``, or ``(T, V)`` of T steps: logits, or probabilities or their logarithms, of
            V tokens.
    """

    class Options(ParameterSection):
        """The divergence up to which models do not deviate."""

        tolerance: float = Field(
            default=0.1,
            ge=0,
            description="mean divergence over the steps that is none, in nats (Kullback–Leibler)",
        )

    def __init__(self, options: Options, shape: tuple[int, ...]) -> None:
        super().__init__(options, (int(np.prod(shape[:-1])), shape[-1]) if shape else (1, 1))

    def deviates_finite(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.Comparison.deviates_finite`."""
        above: NDArray[np.bool_] = self.divergences(f, g).mean(axis=1) > self.options.tolerance
        return above

    def distance_finite(self, f: Outputs, g: Outputs) -> Floats:
        """The mean divergence over the steps, in nats."""
        mean: Floats = self.divergences(f, g).mean(axis=1).astype(np.float32)
        return mean

    def uncertainty_finite(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """How undecided the most undecided step is between k tokens."""
        p, q = (np.exp(rows).astype(np.float32) for rows in self._logarithms(f, g))
        most: Floats = indecision(p, q, k).max(axis=1)
        return most

    def figures(self, f: Outputs, g: Outputs) -> tuple[AgreementFigure, ...]:
        """Divergence, and where the two models would first write another token."""
        other = self.unfolded(f).argmax(axis=2) != self.unfolded(g).argmax(axis=2)
        divergences = self.divergences(f, g)
        found = [
            AgreementFigure("mean divergence of a step, nats", float(divergences.mean())),
            AgreementFigure("largest divergence of a step, nats", float(divergences.max())),
            AgreementFigure("steps with another most probable token", float(other.mean()), True),
        ]
        if (rows := other.any(axis=1)).any():
            first = other[rows].argmax(axis=1) + 1
            found.append(
                AgreementFigure("first such step, median of these inputs", float(np.median(first)))
            )
        return tuple(found)

    def divergences(self, f: Outputs, g: Outputs) -> Scores:
        """The Kullback–Leibler divergence of g from f at each step, in nats, ``(N, T)``."""
        p, q = self._logarithms(f, g)
        divergences: Scores = (np.exp(p) * (p - q)).sum(axis=2)
        return np.maximum(divergences, 0)

    def _logarithms(self, f: Outputs, g: Outputs) -> tuple[Scores, Scores]:
        """Logarithms of probabilities; those of f tell of what outputs are."""
        one, other = (self.unfolded(rows).astype(np.float64) for rows in (f, g))
        given = (one >= 0).all(axis=-1) & (np.abs(one.sum(axis=-1) - 1) < _ROUNDED)
        return _logarithms(one, given), _logarithms(other, given)


def _logarithms(scores: Scores, chances: NDArray[np.bool_]) -> Scores:
    """Logarithms of probabilities: of logits, or where these are there of probabilities."""
    given = np.log(np.maximum(scores, _SMALLEST))
    exact = np.where(chances[..., np.newaxis], given, scores)
    shifted = exact - exact.max(axis=-1, keepdims=True)
    logarithms: Scores = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return logarithms


#: How far the sum of probabilities may be from 1, and the least that one counts as.
_ROUNDED, _SMALLEST = 0.05, 1e-12
