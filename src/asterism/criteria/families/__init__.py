"""Criteria over the activations of a network: what one is; a module for each family of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.criterion import Criterion
from asterism.core.parameters.construction import NoOptions, options_by_name
from asterism.core.parameters.params import Distinct, ParameterSection
from asterism.core.parameters.registry import Registry
from asterism.core.parameters.validation import Label, named

Floats = NDArray[np.float32]


class CriteriaParams(ParameterSection):
    """Which criteria are measured, and their settings."""

    accepted_by: ClassVar[str | None] = "asterism.criteria.families:criterion_options"

    names: Distinct[Annotated[str, named("asterism.criteria.families:ACTIVATION_CRITERIA")]] = (
        Field(description="criteria by name, in the order of reports")
    )
    layers: Distinct[str] | None = Field(
        min_length=1,
        description="layers whose neurons count; null: every hidden layer with an activation",
    )
    options: dict[Label, dict[Label, Any]] = Field(
        description="what each criterion takes by its name, see its Options"
    )


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


class ChosenCriterion(ActivationCriterion):
    """A criterion that is chosen by name and made from its own options."""

    #: The options that this criterion takes.
    Options: ClassVar[type[ParameterSection]] = NoOptions

    def __init__(self, options: Any) -> None:
        self.options = options


class NeuronItems(ChosenCriterion):
    """A criterion that covers items of neurons, the same number of items for each.

    A subclass says which items of a layer a batch covers; coverage is their share of all.
    """

    def __init__(self, options: Any) -> None:
        super().__init__(options)
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


ACTIVATION_CRITERIA: Registry[type[ChosenCriterion]] = Registry(
    "criterion", "asterism.criteria.families"
)


def criterion_options(params: CriteriaParams) -> dict[str, ParameterSection]:
    """The options of the chosen criteria, and of the others that have any given, by name.

    Raises:
        UserError: no such criterion, or the options are none of its.
    """
    return options_by_name(ACTIVATION_CRITERIA, params.options, params.names)


def build_criteria(params: CriteriaParams) -> dict[str, ActivationCriterion]:
    """The chosen criteria by name, in the order of ``params.names``.

    Raises:
        UserError: see :func:`criterion_options`.
    """
    options = criterion_options(params)
    return {name: ACTIVATION_CRITERIA[name](options[name]) for name in params.names}
