"""Fitting on a training set: the important neurons, their clusters and the other criteria."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import get_logger
from asterism.criteria.families import ActivationCriterion, CriteriaParams, build_criteria
from asterism.deepimportance.coverage import ImportanceDrivenCoverage
from asterism.deepimportance.judged_model import JudgedModel
from asterism.deepimportance.neurons import NeuronRelevance, Tracer, sum_neuron_relevance
from asterism.deepimportance.params import ImportanceParams
from asterism.deepimportance.relevance import NoRelevanceError

log = get_logger(__name__)


@dataclass(frozen=True)
class FittedCriteria:
    """What was learnt about a model from the training set.

    Attributes:
        tracer: records neurons.
        subject: the subject layer's name.
        relevance: the relevance of its neurons; None where relevance has no way to them.
        target_class: the class for which neurons are important; None for all.
        idc: importance-driven coverage by number of important neurons, ascending; none without
            relevance.
        others: the other criteria by name.
        left_out: why there is no IDC; empty where there is.
    """

    tracer: Tracer
    subject: str
    relevance: NeuronRelevance | None
    target_class: int | None
    idc: dict[str, ImportanceDrivenCoverage]
    others: dict[str, ActivationCriterion]
    left_out: str

    def exercised(self, images: NDArray[Any]) -> dict[str, ActivationCriterion]:
        """Copies of all criteria after these images alone; IDC comes last."""
        return extend_criteria(self.tracer, {**self.others, **self.idc}, images)


def fit_criteria(
    model: JudgedModel,
    items: NDArray[Any],
    labels: NDArray[np.int64] | None,
    importance: ImportanceParams,
    criteria: CriteriaParams,
) -> FittedCriteria:
    """Find the important neurons, cluster their activations and fit the other criteria.

    Where relevance cannot pass an operation, IDC is left out, and the other criteria are fitted.

    Args:
        model: the model under test, a classifier or a regressor.
        items: training inputs ``(N, …)``, in the form that the model is given.
        labels: int64 ``(N,)``; None for a regressor.
        importance: the lane's parameters. Numbers of neurons beyond the layer's count as all of
            it; a regressor has no target class.
        criteria: which other criteria.

    Raises:
        UserError: the model takes inputs of another shape, there is no such layer or criterion,
            or relevance has no way to the layer and no other criterion is wanted.
    """
    model.require(items)
    subject = model.find_layer(importance.layer)
    layers = criteria.layers if criteria.layers is not None else model.hidden_layers()
    tracer = Tracer(model, subject, [model.find_layer(name) for name in layers])
    target = importance.target_class if model.classifies else None
    others = build_criteria(criteria)
    if not model.classifies:
        others = {name: c for name, c in others.items() if not c.needs_classes}
    widest: list[ImportanceDrivenCoverage] = []  # one, or none without relevance
    relevance, left_out = None, ""
    try:
        relevance = sum_neuron_relevance(model, importance.relevance, subject, items, labels)
        widest.append(_of_important(relevance.ranking(target), model, subject, importance))
    except NoRelevanceError as error:
        if not others:
            raise
        left_out = error.reason
        log.warning("importance-driven coverage is left out", reason=str(error))
    for batch in tracer.stream(items, "profiling neurons"):
        for criterion in (*widest, *others.values()):
            criterion.fit(batch)
    by_count = {
        f"idc_{m}": idc.of_first(m)
        for idc in widest
        for m in sorted({min(m, len(idc.neurons)) for m in importance.neurons})
    }
    return FittedCriteria(tracer, subject, relevance, target, by_count, others, left_out)


def _of_important(
    ranking: NDArray[np.int64], model: JudgedModel, subject: str, importance: ImportanceParams
) -> ImportanceDrivenCoverage:
    """The coverage of the largest wanted number of neurons, or of all that there are."""
    wanted = max(importance.neurons)
    if wanted > len(ranking):
        log.warning("fewer neurons", layer=subject, wanted=wanted, possible=len(ranking))
    dense = len(model.shape(subject)) == 2
    return ImportanceDrivenCoverage(ranking[:wanted], importance.clusters, dense=dense)


def extend_criteria(
    tracer: Tracer, criteria: Mapping[str, ActivationCriterion], images: NDArray[Any]
) -> dict[str, ActivationCriterion]:
    """Copies of criteria that have also counted further images."""
    forks = {name: criterion.fork() for name, criterion in criteria.items()}
    for batch in tracer.stream(images):
        for criterion in forks.values():
            criterion.update(batch)
    return forks
