"""Which neurons of a layer carry a model's decisions."""

from __future__ import annotations

from dataclasses import dataclass

import keras
import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.criteria.layers import is_classifier
from asterism.criteria.tracing import BATCH, model_input
from asterism.deepimportance.composite import COMPOSITES, Composite, RuleSettings
from asterism.deepimportance.params import RelevanceParams
from asterism.deepimportance.relevance import Propagator
from asterism.models.keras_models.preprocessing import PreprocessingParams
from asterism.models.layers.logits import notes_on


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


def composite_of(params: RelevanceParams) -> Composite:
    """The composite that the parameters name."""
    settings = RuleSettings(params.epsilon, params.alpha, params.alpha - 1, params.gamma)
    return COMPOSITES[params.composite](settings)


def propagator(
    model: keras.Model,
    preprocessing: PreprocessingParams,
    params: RelevanceParams,
    layer: str | None,
) -> Propagator:
    """Relevance at a layer (None: at the input) for images under this preprocessing."""
    channels = int(model.inputs[0].shape[-1])
    ends = np.stack([np.zeros((1, 1, channels)), np.full((1, 1, channels), 255.0)])
    low, high = preprocessing.apply(ends.astype(np.uint8)).astype(np.float64)
    return Propagator(model, composite_of(params), layer, low=low[0, 0], high=high[0, 0])


def neuron_relevance(
    model: keras.Model,
    preprocessing: PreprocessingParams,
    params: RelevanceParams,
    layer: str,
    images: NDArray[np.uint8],
    labels: NDArray[np.int64] | None,
) -> NeuronRelevance:
    """Sum each neuron's relevance over the training inputs, batch by batch.

    Args:
        model: the model under test.
        preprocessing: from grey levels to its input.
        params: rules.
        layer: subject layer.
        images: uint8 ``(N, H, W, C)``, training inputs.
        labels: their classes; inputs that the model gets wrong do not count. None for a regressor.

    Raises:
        UserError: a layer that relevance cannot pass.
    """
    propagate = propagator(model, preprocessing, params, layer)
    classes = int(model.outputs[0].shape[-1]) if is_classifier(model) else 1
    neurons = int(model.get_layer(layer).output.shape[-1])
    notes: list[str] = []
    total, inputs = np.zeros((classes, neurons)), np.zeros(classes, np.int64)
    starts = range(0, len(images), BATCH)
    for start in progress(starts, label="propagating relevance", unit="batch"):
        batch = model_input(images[start : start + BATCH], preprocessing)
        scores, relevance = propagate.per_neuron(batch)
        if start == 0 and is_classifier(model):
            notes = notes_on(scores)
        decisions = scores.argmax(axis=1)
        correct = (
            np.ones(len(batch), np.bool_)
            if labels is None
            else decisions == labels[start : start + BATCH]
        )
        np.add.at(total, decisions[correct], relevance[correct].astype(np.float64))
        inputs += np.bincount(decisions[correct], minlength=classes)
    return NeuronRelevance(total, inputs, notes)
