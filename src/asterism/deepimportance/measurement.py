"""Measuring a test set: importance-driven coverage and the other criteria, with controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from asterism.core.console import progress
from asterism.criteria.criterion import CRITERIA, Criterion
from asterism.criteria.params import CriteriaParams
from asterism.criteria.tracing import Tracer, find_layer, hidden_layers, is_classifier
from asterism.deepimportance.clusters import NeuronClusters, fit_clusters
from asterism.deepimportance.coverage import ImportanceDrivenCoverage, combinations_of
from asterism.deepimportance.neurons import NeuronRelevance, neuron_relevance
from asterism.deepimportance.params import ImportanceParams
from asterism.deepimportance.sets import Compared
from asterism.models.preprocessing import PreprocessingParams

Numbers = dict[str, Any]


@dataclass(frozen=True)
class Fitted:
    """What the training set taught about a model.

    Attributes:
        tracer: records neurons.
        subject: the subject layer's name.
        relevance: of its neurons.
        important: int64 ``(m,)``, the most important neurons first; m the largest asked for.
        activations: float32 ``(N, m)``, theirs over the training set.
        clusters: theirs.
        criteria: the other criteria, fitted, by name.
    """

    tracer: Tracer
    subject: str
    relevance: NeuronRelevance
    important: NDArray[np.int64]
    activations: NDArray[np.float32]
    clusters: list[NeuronClusters]
    criteria: dict[str, Criterion]

    def codes(self, images: NDArray[Any], criteria: Mapping[str, Criterion]) -> NDArray[np.uint8]:
        """Clusters ``(N, m)`` that images exercise; each criterion counts them in on the way."""
        idc = ImportanceDrivenCoverage(self.clusters)
        parts = [np.empty((0, len(self.important)), np.uint8)]
        for batch in self.tracer.stream(images):
            parts.append(idc.codes(batch.layers[self.subject][:, self.important]))
            for criterion in criteria.values():
                criterion.update(batch)
        return np.concatenate(parts)


@dataclass(frozen=True)
class Measured:
    """What a test set and its additions exercise.

    Attributes:
        metrics: every number, nested by set and criterion.
        rows: the same as a table, a row for each set and criterion.
        subset: int64, positions in the test set of a smallest subset with the same IDC, for the
            largest number of important neurons.
    """

    metrics: Numbers
    rows: list[Numbers] = field(default_factory=list)
    subset: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


def fit(
    model: keras.Model,
    preprocessing: PreprocessingParams,
    images: NDArray[np.uint8],
    labels: NDArray[np.int64] | None,
    importance: ImportanceParams,
    criteria: CriteriaParams,
) -> Fitted:
    """Find the important neurons, cluster their activations and fit the other criteria.

    Args:
        model: the model under test, a classifier or a regressor.
        preprocessing: from grey levels to its input.
        images: uint8 ``(N, H, W, C)``, training inputs.
        labels: int64 ``(N,)``; None for a regressor.
        importance: the lane's parameters.
        criteria: which other criteria.

    Raises:
        UserError: no such layer or criterion, or a layer that relevance cannot cross.
    """
    subject = find_layer(model, importance.layer)
    layers = criteria.layers if criteria.layers is not None else hidden_layers(model)
    tracer = Tracer(model, preprocessing, subject, [find_layer(model, name) for name in layers])
    relevance = neuron_relevance(
        model, preprocessing, importance.relevance, subject, images, labels
    )
    important = relevance.ranking(importance.target_class)[: max(importance.neurons)]
    others = {name: CRITERIA[name](criteria) for name in criteria.names}
    if not is_classifier(model):
        others = {name: c for name, c in others.items() if not c.needs_classes}
    parts = []
    for batch in tracer.stream(images, "profiling neurons"):
        parts.append(batch.layers[subject][:, important])
        for criterion in others.values():
            criterion.fit(batch)
    activations = np.concatenate(parts)
    dense = len(model.get_layer(subject).output.shape) == 2
    clusters = fit_clusters(activations, importance.clusters, dense=dense)
    return Fitted(tracer, subject, relevance, important, activations, clusters, others)


def measure(
    fitted: Fitted,
    base: NDArray[Any],
    additions: Mapping[str, Compared],
    neurons: Sequence[int],
) -> Measured:
    """Coverage of a test set, alone and with each addition, beside that of its controls.

    Args:
        fitted: what the training set taught.
        base: the test set, uint8 images or pixels in [0, 1].
        additions: what is added, each on its own, with controls.
        neurons: numbers of important neurons; more than the layer has count as all of it.
    """
    alone = {name: criterion.fork() for name, criterion in fitted.criteria.items()}
    base_codes = fitted.codes(base, alone)
    counts = list(dict.fromkeys(min(m, len(fitted.important)) for m in neurons))
    values = {name: criterion.value() for name, criterion in alone.items()}
    idc = {m: _idc(fitted, base_codes, m) for m in counts}
    values |= {f"idc_{m}": coverage.value() for m, coverage in idc.items()}
    largest = idc[max(counts)]
    metrics: Numbers = {
        "test_set": {"inputs": len(base), **values},
        "combinations": {f"idc_{m}": coverage.combinations for m, coverage in idc.items()},
        "smallest_subset": {f"idc_{m}": len(coverage.covered) for m, coverage in idc.items()},
        "additions": {},
    }
    rows = [_row("test set", name, value) for name, value in values.items()]
    for name, compared in progress(list(additions.items()), label="measuring", unit="set"):

        def union(images: NDArray[Any]) -> Numbers:
            return _union(fitted, alone, base_codes, idc, images)

        found = union(compared.added)
        clean = [union(images) for images in compared.clean]
        perturbed = [union(images) for images in compared.perturbed]
        facts: Numbers = {"inputs": len(compared.added), "draws": len(clean)}
        for criterion in values:
            facts[criterion] = {
                "value": found[criterion],
                **_spread("clean", [draw[criterion] for draw in clean]),
                **_spread("perturbed", [draw[criterion] for draw in perturbed]),
            }
            rows.append(_row(f"+ {name}", criterion, **facts[criterion]))
        facts["new_combinations"] = {
            f"idc_{m}": {
                "value": found[f"new_{m}"],
                **_spread("clean", [draw[f"new_{m}"] for draw in clean]),
                **_spread("perturbed", [draw[f"new_{m}"] for draw in perturbed]),
            }
            for m in counts
        }
        metrics["additions"][name] = facts
    return Measured(metrics, rows, largest.smallest_subset())


def _union(
    fitted: Fitted,
    alone: Mapping[str, Criterion],
    base_codes: NDArray[np.uint8],
    idc: Mapping[int, ImportanceDrivenCoverage],
    images: NDArray[Any],
) -> Numbers:
    """Every criterion's value for the test set with ``images``, and the combinations gained."""
    forks = {name: criterion.fork() for name, criterion in alone.items()}
    codes = fitted.codes(images, forks)
    values: Numbers = {name: criterion.value() for name, criterion in forks.items()}
    for m, coverage in idc.items():
        new = len(combinations_of(codes[:, :m]) - coverage.covered.keys())
        values[f"new_{m}"] = new
        values[f"idc_{m}"] = (len(coverage.covered) + new) / coverage.combinations
    return values


def _idc(fitted: Fitted, codes: NDArray[np.uint8], m: int) -> ImportanceDrivenCoverage:
    coverage = ImportanceDrivenCoverage(fitted.clusters[:m])
    coverage.update_codes(codes[:, :m])
    return coverage


def _spread(name: str, values: list[float]) -> Numbers:
    """Mean and sample standard deviation over draws; 0 for a single draw."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {f"{name}_mean": float(np.mean(values)), f"{name}_std": deviation}


def _row(inputs: str, criterion: str, value: float, **controls: float) -> Numbers:
    empty = dict.fromkeys(("clean_mean", "clean_std", "perturbed_mean", "perturbed_std"))
    return {"inputs": inputs, "criterion": criterion, "value": float(value), **empty, **controls}
