"""Which neurons of a layer carry a model's decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.deepimportance.composites import composite_of
from asterism.deepimportance.judged_model import JudgedModel
from asterism.deepimportance.params import RelevanceParams
from asterism.deepimportance.tracing import BATCH
from asterism.models.keras_models.probabilities import notes_on_scores


@dataclass(frozen=True)
class NeuronRelevance:
    """Relevance of a layer's neurons, summed over training inputs.

    Attributes:
        per_class: float64 ``(classes, neurons)``, over the correctly handled inputs of each class;
            one row for a regressor, over all inputs.
        inputs: int64 ``(classes,)``, how many inputs that were.
        notes: what there is to say of the scores that relevance starts from.
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
        """Neurons by falling :meth:`total`; of equal ones the first."""
        return np.argsort(-self.total(target_class), kind="stable")


def neuron_relevance(
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
    explain = model.explainer(layer, composite_of(params))
    neurons = model.shape(layer)[-1]
    assert neurons is not None
    notes: list[str] = []
    total, inputs = np.zeros((model.outputs, neurons)), np.zeros(model.outputs, np.int64)
    starts = range(0, len(items), BATCH)
    for start in progress(starts, label="propagating relevance", unit="batch"):
        batch = items[start : start + BATCH]
        scores, relevance = explain(batch)
        if start == 0 and model.classifies:
            notes = notes_on_scores(scores)
        decisions = scores.argmax(axis=1)
        correct = (
            np.ones(len(batch), np.bool_)
            if labels is None
            else decisions == labels[start : start + BATCH]
        )
        np.add.at(total, decisions[correct], relevance[correct].astype(np.float64))
        inputs += np.bincount(decisions[correct], minlength=model.outputs)
    return NeuronRelevance(total, inputs, notes)
