"""The activations of a model's neurons, batch by batch, and which neurons carry its decisions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.criteria.families import Activations
from asterism.deepimportance.composites import build_composite
from asterism.deepimportance.judged_model import JudgedModel
from asterism.deepimportance.params import RelevanceParams
from asterism.models.images_and_scores import check_scores

BATCH = 512


class Tracer:
    """Runs inputs through a model and records the neurons of some layers.

    Args:
        model: the model.
        subject: the layer under study.
        layers: those whose neurons count for the criteria.
    """

    def __init__(self, model: JudgedModel, subject: str, layers: list[str]) -> None:
        self._names = sorted({subject, *layers}, key=list(model.layers).index)
        self._record = model.recorder(self._names)
        self._counted = layers
        self._subject = subject
        self._classifies = model.classifies

    def __call__(self, items: NDArray[Any]) -> Activations:
        """Activations of one batch, ``(N, …)`` in the form that the model is given."""
        hidden, output = self._record(items)
        decisions = output.argmax(axis=1).astype(np.int64) if self._classifies else None
        found = dict(zip(self._names, hidden, strict=True))
        counted = {name: values for name, values in found.items() if name in self._counted}
        return Activations(counted, found[self._subject], decisions)

    def stream(self, items: NDArray[Any], label: str | None = None) -> Iterator[Activations]:
        """Activations of many inputs, batch by batch, under a progress bar if it has a label."""
        starts: Any = range(0, len(items), BATCH)
        if label is not None:
            starts = progress(starts, label=label, unit="batch")
        for start in starts:
            yield self(items[start : start + BATCH])


@dataclass(frozen=True)
class NeuronRelevance:
    """Relevance of a layer's neurons, summed over training inputs.

    Attributes:
        per_class: float64 ``(classes, neurons)``, over the correctly handled inputs of each class;
            one row for a regressor, over all inputs.
        inputs: int64 ``(classes,)``, how many inputs that were.
        notes: remarks about the scores from which relevance is propagated.
    """

    per_class: NDArray[np.float64]
    inputs: NDArray[np.int64]
    notes: list[str]

    def total(self, target_class: int | None = None) -> NDArray[np.float64]:
        """Relevance of each neuron, for one class or overall.

        Raises:
            UserError: no such class, or no input that counts.
        """
        if target_class is not None and target_class >= len(self.per_class):
            raise UserError(
                f"importance.target_class is {target_class}, but the model has "
                f"{len(self.per_class)} classes"
            )
        rows = slice(None) if target_class is None else [target_class]
        if not self.inputs[rows].any():
            of_class = "" if target_class is None else f" of class {target_class}"
            raise UserError(f"the model classifies no training input{of_class} correctly")
        total: NDArray[np.float64] = self.per_class[rows].sum(axis=0)
        return total

    def ranking(self, target_class: int | None = None) -> NDArray[np.int64]:
        """Neurons by falling :meth:`total`; of equal neurons the first one comes first."""
        return np.argsort(-self.total(target_class), kind="stable")


def sum_neuron_relevance(
    model: JudgedModel,
    params: RelevanceParams,
    layer: str,
    items: NDArray[Any],
    labels: NDArray[np.int64] | None,
) -> NeuronRelevance:
    """Sum each neuron's relevance over the training inputs, batch by batch.

    Args:
        model: the model under test.
        params: rules.
        layer: subject layer.
        items: training inputs ``(N, …)``, in the form that the model is given.
        labels: their classes; inputs that the model gets wrong do not count. None for a regressor.

    Raises:
        UserError: relevance has no way to the layer.
    """
    explain = model.explainer(layer, build_composite(params))
    neurons = model.shape(layer)[-1]
    assert neurons is not None
    notes: list[str] = []
    total, inputs = np.zeros((model.outputs, neurons)), np.zeros(model.outputs, np.int64)
    starts = range(0, len(items), BATCH)
    for start in progress(starts, label="propagating relevance", unit="batch"):
        batch = items[start : start + BATCH]
        scores, relevance = explain(batch)
        if start == 0 and model.classifies:
            notes = check_scores(scores)
        decisions = scores.argmax(axis=1)
        correct = (
            np.ones(len(batch), np.bool_)
            if labels is None
            else decisions == labels[start : start + BATCH]
        )
        np.add.at(total, decisions[correct], relevance[correct].astype(np.float64))
        inputs += np.bincount(decisions[correct], minlength=model.outputs)
    return NeuronRelevance(total, inputs, notes)
