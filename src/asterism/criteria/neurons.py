"""Neuron coverage and top-k coverage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asterism.criteria.criterion import (
    CRITERIA,
    ActivationCriterion,
    Activations,
    Floats,
    NeuronItems,
)
from asterism.criteria.key_table import Keys, KeyTable, zobrist
from asterism.criteria.params import CriteriaParams


@CRITERIA.register("neuron_coverage")
class NeuronCoverage(NeuronItems):
    """NC: share of the neurons that some input drives above a threshold (DeepXplore, SOSP 2017)."""

    def _covers(self, layer: str, values: Floats) -> NDArray[np.bool_]:
        if self.params.neuron_scaled:
            low = values.min(axis=1, keepdims=True)
            span = values.max(axis=1, keepdims=True) - low
            values = np.divide(values - low, span, out=np.zeros_like(values), where=span > 0)
        covered: NDArray[np.bool_] = np.any(values > self.params.neuron_threshold, axis=0)
        return covered[:, None]


@CRITERIA.register("top_k_neuron_coverage")
class TopKNeuronCoverage(NeuronItems):
    """TKNC: share of the neurons that are among their layer's top k for some input (DeepGauge)."""

    def _covers(self, layer: str, values: Floats) -> NDArray[np.bool_]:
        found = np.zeros((values.shape[1], 1), np.bool_)
        found[top_k(values, self.params.top_k)] = True
        return found


@CRITERIA.register("top_k_neuron_patterns")
class TopKNeuronPatterns(ActivationCriterion):
    """TKNP: how many different sets of top k neurons, over all layers, were seen (DeepGauge).

    A count, not a share: the number of possible patterns has no useful bound.
    """

    def __init__(self, params: CriteriaParams) -> None:
        self.params = params
        self.covered = KeyTable()
        self._facts: dict[str, Keys] = {}

    def fit(self, training: Activations) -> None:
        """Learn nothing."""

    def update(self, batch: Activations) -> None:
        """See :meth:`Criterion.update`."""
        patterns = np.zeros(len(batch), np.uint64)
        for name, values in batch.layers.items():
            facts = self._facts.setdefault(name, zobrist(f"top {name}", values.shape[1]))
            patterns ^= np.bitwise_xor.reduce(facts[top_k(values, self.params.top_k)], axis=1)
        different = np.unique(patterns)
        self.covered.add(different[~self.covered.has(different)])

    def value(self) -> float:
        """Number of patterns seen."""
        return float(len(self.covered))


def top_k(values: Floats, k: int) -> NDArray[np.int64]:
    """The ``k`` largest of each row, ``(N, min(k, neurons))``; of equal ones the first."""
    order = np.argsort(-values, axis=1, kind="stable")
    return order[:, :k]
