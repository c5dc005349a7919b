"""Importance-driven coverage (IDC): which combinations of clusters inputs have exercised.

The space of combinations grows as the product of the cluster counts and is never enumerated: an
input exercises one combination, so only those that occurred are kept.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from asterism.criteria.families import ActivationCriterion, Activations
from asterism.criteria.row_file import KeyTable, zobrist_keys
from asterism.deepimportance.clusters import Histogram, NeuronClusters, fit_clusters
from asterism.deepimportance.params import ClusterParams

Codes = NDArray[np.uint8]
Ints = NDArray[np.int64]

#: A cluster's number is a byte.
_CLUSTERS = 256


@dataclass(frozen=True)
class Combinations:
    """Combinations of clusters that inputs exercised, in the order of the inputs.

    Attributes:
        inputs: int64 ``(n,)``, for each the position of the first input that exercised it.
        clusters: uint8 ``(n, m)``, the cluster of each neuron.
    """

    inputs: Ints
    clusters: Codes


class ImportanceDrivenCoverage(ActivationCriterion):
    """Counts combinations of the important neurons' clusters.

    Args:
        neurons: int ``(m,)``, the important neurons of the subject layer, the first the most so.
        params: how their activations are clustered.
        dense: whether the subject layer is a dense one.
    """

    def __init__(self, neurons: Ints, params: ClusterParams, *, dense: bool) -> None:
        self.neurons = neurons
        #: Each neuron's activations over the training inputs.
        self.histograms = [Histogram() for _ in neurons]
        #: Under a combination's key: the first input's position and the combination.
        self.covered = KeyTable(8 + len(neurons))
        self._facts = zobrist_keys("idc", len(neurons), _CLUSTERS)
        self._params = params
        self._dense = dense
        self._inputs = 0

    def fit(self, training: Activations) -> None:
        """Count the activations of a batch of training inputs."""
        for neuron, histogram in zip(self.neurons, self.histograms, strict=True):
            histogram.add(training.subject[:, neuron])

    @cached_property
    def clusters(self) -> list[NeuronClusters]:
        """Each neuron's clusters; afterwards no training inputs can be added."""
        return fit_clusters(self.histograms, self._params, dense=self._dense)

    def of_first(self, count: int) -> Self:
        """The empty coverage of the ``count`` most important neurons."""
        part = copy.copy(self)
        part.clusters = self.clusters[:count]
        part.neurons, part.histograms = self.neurons[:count], self.histograms[:count]
        part.covered = KeyTable(8 + count)
        return part

    @property
    def combinations(self) -> int:
        """How many combinations there are."""
        return math.prod(len(c.centroids) for c in self.clusters)

    def update(self, batch: Activations) -> None:
        """See :meth:`Criterion.update`."""
        codes = self.codes(batch.subject[:, self.neurons])
        facts = self._facts[np.arange(codes.shape[1]), codes]
        keys, first = np.unique(np.bitwise_xor.reduce(facts, axis=1), return_index=True)
        new = ~self.covered.has(keys)
        positions = (self._inputs + first[new]).astype("<i8")
        rows = np.concatenate([positions[:, None].view(np.uint8), codes[first[new]]], axis=1)
        self.covered.add(keys[new], rows)
        self._inputs += len(codes)

    def codes(self, activations: NDArray[np.float32]) -> Codes:
        """Cluster of every important neuron, uint8 ``(N, m)``, from activations ``(N, m)``."""
        columns = [c.assign(activations[:, i]) for i, c in enumerate(self.clusters)]
        return np.stack(columns, axis=1)

    def value(self) -> float:
        """Exercised combinations over all combinations."""
        return len(self.covered) / self.combinations

    def exercised(self, since: int = 0) -> Combinations:
        """The combinations that no input before the position ``since`` exercised."""
        rows = np.concatenate(list(self.covered.rows()))
        inputs = rows[:, :8].copy().view("<i8")[:, 0]
        order = np.argsort(inputs)
        order = order[np.searchsorted(inputs[order], since) :]
        return Combinations(inputs[order], rows[order, 8:])

    def smallest_subset(self) -> Ints:
        """Positions of a smallest set of the inputs with the same coverage, ascending.

        An input exercises exactly one combination, so one input for each is enough and needed.
        """
        return self.exercised().inputs
