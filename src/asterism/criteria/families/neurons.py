"""Criteria over neurons: a threshold, the top k of a layer, or the range in training (DeepGauge).

DeepXplore is Pei et al., SOSP 2017; DeepGauge is Ma et al., ASE 2018.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.criteria.families import (
    ACTIVATION_CRITERIA,
    Activations,
    ChosenCriterion,
    Floats,
    NeuronItems,
)
from asterism.criteria.row_file import Keys, KeyTable, zobrist_keys


@ACTIVATION_CRITERIA.register("neuron_coverage")
class NeuronCoverage(NeuronItems):
    """NC: share of the neurons that some input drives above a threshold (DeepXplore, SOSP 2017)."""

    class Options(ParameterSection):
        """When a neuron is covered."""

        threshold: float = Field(description="a neuron above it is covered")
        scaled: bool = Field(
            description="scale each input's activations to [0, 1] within their layer before that"
        )

    def _covers(self, layer: str, values: Floats) -> NDArray[np.bool_]:
        if self.options.scaled:
            low = values.min(axis=1, keepdims=True)
            span = values.max(axis=1, keepdims=True) - low
            values = np.divide(values - low, span, out=np.zeros_like(values), where=span > 0)
        covered: NDArray[np.bool_] = np.any(values > self.options.threshold, axis=0)
        return covered[:, None]


class TopKOptions(ParameterSection):
    """Of how many neurons criteria over the most active ones speak."""

    k: int = Field(ge=1, description="most active neurons of a layer")


@ACTIVATION_CRITERIA.register("top_k_neuron_coverage")
class TopKNeuronCoverage(NeuronItems):
    """TKNC: share of the neurons that are among their layer's top k for some input (DeepGauge)."""

    Options = TopKOptions

    def _covers(self, layer: str, values: Floats) -> NDArray[np.bool_]:
        found = np.zeros((values.shape[1], 1), np.bool_)
        found[top_k(values, self.options.k)] = True
        return found


@ACTIVATION_CRITERIA.register("top_k_neuron_patterns")
class TopKNeuronPatterns(ChosenCriterion):
    """TKNP: how many different sets of top k neurons, over all layers, were seen (DeepGauge).

    A count, not a share: the number of possible patterns has no useful bound.
    """

    Options = TopKOptions

    def __init__(self, options: TopKOptions) -> None:
        super().__init__(options)
        self.covered = KeyTable()
        self._facts: dict[str, Keys] = {}

    def fit(self, training: Activations) -> None:
        """Learn nothing."""

    def update(self, batch: Activations) -> None:
        """See :meth:`Criterion.update`."""
        patterns = np.zeros(len(batch), np.uint64)
        for name, values in batch.layers.items():
            facts = self._facts.setdefault(name, zobrist_keys(f"top {name}", values.shape[1]))
            patterns ^= np.bitwise_xor.reduce(facts[top_k(values, self.options.k)], axis=1)
        different = np.unique(patterns)
        self.covered.add(different[~self.covered.has(different)])

    def value(self) -> float:
        """Number of patterns seen."""
        return float(len(self.covered))


def top_k(values: Floats, k: int) -> NDArray[np.int64]:
    """The ``k`` largest of each row, ``(N, min(k, neurons))``; of equal ones the first."""
    order = np.argsort(-values, axis=1, kind="stable")
    return order[:, :k]


class RangeCriterion(NeuronItems):
    """Learns the smallest and largest activation of each neuron."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.low: dict[str, Floats] = {}
        self.high: dict[str, Floats] = {}

    def fit(self, training: Activations) -> None:
        """Widen the ranges."""
        for name, values in training.layers.items():
            low, high = values.min(axis=0), values.max(axis=0)
            self.low[name] = np.minimum(self.low.get(name, low), low)
            self.high[name] = np.maximum(self.high.get(name, high), high)


@ACTIVATION_CRITERIA.register("k_multisection")
class KMultisectionCoverage(RangeCriterion):
    """KMNC: share of the k equal sections of the neurons' ranges that inputs reach.

    Neurons that are constant on the training inputs have no range and are left out.
    """

    class Options(ParameterSection):
        """Into how many sections ranges are cut."""

        sections: int = Field(ge=1, description="sections of each neuron's range")

    def _covers(self, layer: str, values: Floats) -> NDArray[np.bool_]:
        k = self.options.sections
        low, high = self.low[layer].astype(np.float64), self.high[layer].astype(np.float64)
        span = high - low
        inside = (values >= low) & (values <= high) & (span > 0)
        section = np.floor((values - low) / np.where(span > 0, span, 1) * k)
        found = np.zeros((values.shape[1], k), np.bool_)
        rows, neurons = np.nonzero(inside)
        found[neurons, np.minimum(section[rows, neurons].astype(np.int64), k - 1)] = True
        return found

    def _total(self, layer: str, items: NDArray[np.bool_]) -> int:
        return int(self.options.sections * (self.high[layer] > self.low[layer]).sum())


@ACTIVATION_CRITERIA.register("neuron_boundary")
class NeuronBoundaryCoverage(RangeCriterion):
    """NBC: share of the corners, one below and one above each neuron's range, that inputs reach."""

    def _covers(self, layer: str, values: Floats) -> NDArray[np.bool_]:
        below = (values < self.low[layer]).any(axis=0)
        above = (values > self.high[layer]).any(axis=0)
        return np.stack([below, above], axis=1)


@ACTIVATION_CRITERIA.register("strong_neuron_activation")
class StrongNeuronActivationCoverage(RangeCriterion):
    """SNAC: share of the neurons that some input drives above their range."""

    def _covers(self, layer: str, values: Floats) -> NDArray[np.bool_]:
        above: NDArray[np.bool_] = np.any(values > self.high[layer], axis=0)
        return above[:, None]
