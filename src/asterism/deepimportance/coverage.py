"""Importance-driven coverage (IDC): which combinations of clusters inputs have exercised.

The space of combinations grows as the product of the cluster counts and is never enumerated: an
input exercises one combination, so only those that occurred are kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from asterism.deepimportance.clusters import NeuronClusters

Codes = NDArray[np.uint8]


class ImportanceDrivenCoverage:
    """Counts combinations of the important neurons' clusters.

    Args:
        clusters: of each important neuron.
    """

    def __init__(self, clusters: Sequence[NeuronClusters]) -> None:
        self._clusters = list(clusters)
        #: Combinations seen, one byte a neuron, each with the position of its first input.
        self.covered: dict[bytes, int] = {}
        self._inputs = 0

    @property
    def combinations(self) -> int:
        """How many combinations there are."""
        return math.prod(len(c.centroids) for c in self._clusters)

    def codes(self, activations: NDArray[np.float32]) -> Codes:
        """Cluster of every important neuron, uint8 ``(N, m)``, from activations ``(N, m)``."""
        columns = [c.assign(activations[:, i]) for i, c in enumerate(self._clusters)]
        return np.stack(columns, axis=1)

    def update(self, activations: NDArray[np.float32]) -> None:
        """Count a batch ``(N, m)`` of the important neurons' activations in."""
        self.update_codes(self.codes(activations))

    def update_codes(self, codes: Codes) -> None:
        """As :meth:`update`, from clusters ``(N, m)``."""
        rows, first = np.unique(codes, axis=0, return_index=True)
        for row, position in zip(rows, first, strict=True):
            self.covered.setdefault(row.tobytes(), self._inputs + int(position))
        self._inputs += len(codes)

    def value(self) -> float:
        """Exercised combinations over all combinations."""
        return len(self.covered) / self.combinations

    def smallest_subset(self) -> NDArray[np.int64]:
        """Positions of a smallest set of the inputs with the same coverage, ascending.

        An input exercises exactly one combination, so one input for each is enough and needed.
        """
        return np.sort(np.fromiter(self.covered.values(), np.int64, len(self.covered)))


def combinations_of(codes: Codes) -> set[bytes]:
    """The different combinations among clusters ``(N, m)``."""
    return {row.tobytes() for row in np.unique(codes, axis=0)}
