"""Embeddings: by their angle, and by which of some given items is nearest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import COMPARISONS, Comparison, Floats, Outputs, replace_nonfinite

_SMALL = 1e-30


@COMPARISONS.register("embedding")
class EmbeddingComparison(Comparison):
    """Compares vectors: models deviate if the cosine distance is above a tolerance.

    Args:
        options: see :class:`EmbeddingComparison.Options`.
        shape: the shape of the outputs; all of a row are one vector.
    """

    class Options(ParameterSection):
        """When two embeddings differ."""

        tolerance: float = Field(
            default=0.02, ge=0, le=2, description="cosine distance that is no deviation"
        )
        nearest: bool = Field(
            default=True,
            description="also a deviation: another of the given items is nearest, by cosine",
        )

    def __init__(self, options: Options, shape: tuple[int, ...]) -> None:
        super().__init__(options, shape)
        self._known: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def calibrate(self, f: Outputs, g: Outputs) -> None:
        """Take in both models' embeddings of the items among which the nearest is looked for.

        Args:
            f: embeddings by the original, ``(M, K)``.
            g: embeddings of the same items by the compressed model, ``(M, K)``.
        """
        f, g = replace_nonfinite(f, g)
        self._known = _unit(f), _unit(g)

    def deviates_finite(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.Comparison.deviates_finite`; each model looks among its own embeddings."""
        far: NDArray[np.bool_] = self._cosine(f, g) > self.options.tolerance
        if self.options.nearest and self._known is not None:
            far |= _nearest(f, self._known[0]) != _nearest(g, self._known[1])
        return far

    def distance_finite(self, f: Outputs, g: Outputs) -> Floats:
        """The cosine distance, from 0 to 2."""
        return self._cosine(f, g).astype(np.float32)

    def uncertainty_finite(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """How close the k nearest items are, in the less decided model.

        Without items to be near to it is the distance.
        """
        if self._known is None:
            return self.distance_finite(f, g)
        closeness = []
        for outputs, known in zip((f, g), self._known, strict=True):
            near = np.sort(_similarities(outputs, known), axis=1)
            closeness.append(1 - (near[:, -1] - near[:, -min(k, near.shape[1])]))
        return np.maximum(*closeness).astype(np.float32)

    def _cosine(self, f: Outputs, g: Outputs) -> NDArray[np.float64]:
        distance: NDArray[np.float64] = 1 - (_unit(f) * _unit(g)).sum(axis=1)
        return np.clip(distance, 0, 2)


def _unit(vectors: Outputs) -> NDArray[np.float64]:
    exact = vectors.astype(np.float64)
    length = np.sqrt(np.square(exact).sum(axis=1, keepdims=True))
    unit: NDArray[np.float64] = exact / np.maximum(length, _SMALL)
    return unit


def _similarities(outputs: Outputs, known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosines of each output and each known item, ``(N, M)``.

    A matrix product would give other last bits in a batch of another size.
    """
    unit = _unit(outputs)
    cosines = np.empty((len(unit), len(known)))
    for row, vector in enumerate(unit):
        cosines[row] = (known * vector).sum(axis=1)
    return cosines


def _nearest(outputs: Outputs, known: NDArray[np.float64]) -> NDArray[np.int64]:
    nearest: NDArray[np.int64] = _similarities(outputs, known).argmax(axis=1)
    return nearest
