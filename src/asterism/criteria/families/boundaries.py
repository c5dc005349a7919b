"""Criteria over the range that each neuron has on the training inputs (DeepGauge, ASE 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.criteria.criterion import ACTIVATION_CRITERIA, Activations, Floats, NeuronItems


class RangeItems(NeuronItems):
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
class KMultisection(RangeItems):
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
class NeuronBoundary(RangeItems):
    """NBC: share of the corners, one below and one above each neuron's range, that inputs reach."""

    def _covers(self, layer: str, values: Floats) -> NDArray[np.bool_]:
        below = (values < self.low[layer]).any(axis=0)
        above = (values > self.high[layer]).any(axis=0)
        return np.stack([below, above], axis=1)


@ACTIVATION_CRITERIA.register("strong_neuron_activation")
class StrongNeuronActivation(RangeItems):
    """SNAC: share of the neurons that some input drives above their range."""

    def _covers(self, layer: str, values: Floats) -> NDArray[np.bool_]:
        above: NDArray[np.bool_] = np.any(values > self.high[layer], axis=0)
        return above[:, None]
