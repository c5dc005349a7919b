"""What a criterion over the activations of a network is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.criterion import Criterion
from asterism.core.registry import Registry
from asterism.criteria.params import CriteriaParams

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Activations:
    """What a batch of inputs makes the neurons of a network do.

    Attributes:
        layers: float32 ``(N, neurons)`` of each layer that counts by name, in the network's order.
            A feature map is one neuron, whose activation is its mean over places.
        subject: the same of the layer under study, which need not be one of them.
        decisions: int64 ``(N,)``, the winning classes; None for a regressor.
    """

    layers: Mapping[str, Floats]
    subject: Floats
    decisions: NDArray[np.int64] | None

    def __len__(self) -> int:
        return len(self.subject)


class ActivationCriterion(Criterion[Activations, Activations]):
    """Counts what activations have covered; fitted batch by batch, on any number of them."""

    #: Whether it groups inputs by decision, so that it means nothing for a regressor.
    needs_classes: ClassVar[bool] = False


class NeuronItems(ActivationCriterion):
    """A criterion that covers items of neurons, the same number of items for each.

    A subclass says which items of a layer a batch covers; coverage is their share of all.
    """

    def __init__(self, params: CriteriaParams) -> None:
        self.params = params
        self.covered: dict[str, NDArray[np.bool_]] = {}

    def fit(self, training: Activations) -> None:
        """Learn nothing."""

    def update(self, batch: Activations) -> None:
        """See :meth:`Criterion.update`."""
        for name, values in batch.layers.items():
            found = self._covers(name, values)
            self.covered[name] = self.covered[name] | found if name in self.covered else found

    def value(self) -> float:
        """Share of the items, in [0, 1]; 0 before any input."""
        total = sum(self._total(name, items) for name, items in self.covered.items())
        covered = sum(int(items.sum()) for items in self.covered.values())
        return covered / total if total else 0.0

    @abstractmethod
    def _covers(self, layer: str, values: Floats) -> NDArray[np.bool_]:
        """Items that a batch ``(N, neurons)`` covers, ``(neurons, items of a neuron)``."""

    def _total(self, layer: str, items: NDArray[np.bool_]) -> int:
        return items.size


#: Criteria by name, each made from the parameters.
CRITERIA: Registry[Callable[[CriteriaParams], ActivationCriterion]] = Registry(
    "criterion", "asterism.criteria"
)
