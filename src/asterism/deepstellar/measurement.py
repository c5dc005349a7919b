"""Coverage and similarity of whole sets of inputs (section 4).

Two inputs are as alike as the sets of abstract states (or transitions) that their traces visit:
the Jaccard index of the two sets. An input whose trace is unlike those of correctly handled
inputs of the class that it is put into is suspicious: adversarial, or a crash (section 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import roc_auc_score, roc_curve

from asterism.core.messages.console import get_logger, progress
from asterism.core.random_streams import mix_bits, stream
from asterism.data import Dataset
from asterism.deepstellar.criteria import measure_criteria
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.models.recurrent import RecurrentModel

Items = Literal["state", "transition"]
ITEMS: tuple[Items, ...] = ("state", "transition")


log = get_logger(__name__)


def item_codes(codes: NDArray[np.int64], items: Items) -> NDArray[np.int64]:
    """One integer for each item that traces ``(N, T)`` visit: their states or their transitions.

    A step from ``a`` to ``b`` is named by mixing both codes into 63 bits; two steps share a
    name with a chance of about 1e-19.
    """
    if items == "state":
        return codes
    source = codes[:, :-1].astype(np.uint64)
    target = codes[:, 1:].astype(np.uint64)
    mixed = mix_bits(mix_bits(source) + target)
    return (mixed >> np.uint64(1)).astype(np.int64)


def compute_jaccard(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
    """Jaccard index of every pair of traces.

    Args:
        first: int64 ``(N, T)``, items that each trace visits (:func:`item_codes`).
        second: int64 ``(M, T)``.

    Returns:
        float64 ``(N, M)``, 1 where two traces visit the same items.
    """
    items, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    visited = _membership(places.reshape(-1, first.shape[1]), len(items))
    a, b = visited[: len(first)], visited[len(first) :]
    common: NDArray[np.float64] = (a @ b.T).toarray().astype(np.float64)
    sizes = np.add.outer(a.sum(axis=1), b.sum(axis=1))
    similarity: NDArray[np.float64] = common / (sizes - common)
    return similarity


def similarity_to_class(
    codes: NDArray[np.int64],
    predicted: NDArray[np.int64],
    references: NDArray[np.int64],
    reference_labels: NDArray[np.int64],
    items: Items,
) -> NDArray[np.float64]:
    """Mean similarity of each trace to the reference traces of its predicted class.

    Args:
        codes: int64 ``(N, T)``, the traces in question.
        predicted: int64 ``(N,)``, the class that the network puts each into.
        references: int64 ``(R, T)``, traces of correctly handled inputs.
        reference_labels: int64 ``(R,)``.
        items: compare visited states or transitions.

    Returns:
        float64 ``(N,)`` in [0, 1]; 0 for a class without references.
    """
    traces, known = item_codes(codes, items), item_codes(references, items)
    similarity = np.zeros(len(codes))
    for label in np.unique(predicted):
        mine, its = predicted == label, reference_labels == label
        if its.any():
            similarity[mine] = compute_jaccard(traces[mine], known[its]).mean(axis=1)
    return similarity


def choose_references(
    labels: NDArray[np.int64], per_class: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Positions of up to ``per_class`` inputs of each class, drawn without replacement."""
    chosen = [
        rng.permutation(np.flatnonzero(labels == label))[:per_class] for label in np.unique(labels)
    ]
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, np.int64)


def detection_roc(
    normal: NDArray[np.float64], suspicious: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """How well low similarity tells suspicious inputs from normal ones.

    Args:
        normal: float64 ``(N,)``, similarities of inputs that are handled correctly.
        suspicious: float64 ``(M,)``, those of inputs to be found; both not empty.

    Returns:
        The area under the ROC curve, and the curve ``(P, 2)``: false and true positive rates.
    """
    truth = np.repeat([0, 1], [len(normal), len(suspicious)])
    scores = -np.concatenate([normal, suspicious])
    false_positive, true_positive, _ = roc_curve(truth, scores)
    return float(roc_auc_score(truth, scores)), np.column_stack([false_positive, true_positive])


def _membership(places: NDArray[np.int64], items: int) -> sparse.csr_array:
    """Which of ``items`` items each row of ``places`` holds, as 0 and 1."""
    rows = np.repeat(np.arange(len(places)), places.shape[1])
    ones = np.ones(places.size, np.int32)
    visited = sparse.csr_array((ones, (rows, places.ravel())), shape=(len(places), items))
    visited.sum_duplicates()
    visited.data[:] = 1
    return visited


BATCH = 512


@dataclass(frozen=True)
class Traces:
    """Predictions and traces of a network on a set of inputs.

    Attributes:
        codes: int64 ``(N, T)``, abstract states.
        predicted: int64 ``(N,)``, the class of highest probability.
    """

    codes: NDArray[np.int64]
    predicted: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.codes)

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Traces:
        """The traces of some of the inputs."""
        return Traces(self.codes[chosen], self.predicted[chosen])


def trace_inputs(
    network: RecurrentModel, model: TraceModel, inputs: NDArray[Any], label: str
) -> Traces:
    """Run inputs ``(N, ...)`` and abstract their hidden states, batch by batch."""
    codes, predicted = [], []
    starts = range(0, len(inputs), BATCH)
    for start in progress(starts, label=f"tracing {label}", unit="batch"):
        probabilities, states = network.run(inputs[start : start + BATCH])
        codes.append(model.abstraction.encode(states))
        predicted.append(probabilities.argmax(axis=1))
    if not codes:
        return Traces(np.empty((0, 1), np.int64), np.empty(0, np.int64))
    return Traces(np.concatenate(codes), np.concatenate(predicted))


@dataclass(frozen=True)
class Detector:
    """Tells unusual inputs from normal ones by how little their traces resemble references.

    Attributes:
        references: traces of correctly handled training inputs.
        normal: traces of correctly handled inputs that were in no training.
    """

    references: Traces
    normal: Traces

    def roc(self, suspicious: Traces, items: Items) -> tuple[float, NDArray[np.float64]]:
        """AUROC and ROC curve ``(P, 2)`` of finding the suspicious traces among the normal."""
        return detection_roc(
            self._similarity(self.normal, items), self._similarity(suspicious, items)
        )

    def _similarity(self, traces: Traces, items: Items) -> NDArray[np.float64]:
        return similarity_to_class(
            traces.codes,
            traces.predicted,
            self.references.codes,
            self.references.predicted,
            items,
        )


@dataclass(frozen=True)
class CoverageMeasurement:
    """Coverage of sets of inputs, and how well unusual inputs are detected.

    Attributes:
        metrics: by set, its number of inputs, the value of every coverage criterion and, for
            suspicious sets, the AUROC by kind of similarity (``state_similarity_auroc``, …).
        curves: the ROC curves, with the columns ``set``, ``similarity``, ``false_positive_rate``
            and ``true_positive_rate``.
    """

    metrics: dict[str, dict[str, float]]
    curves: pl.DataFrame


def measure_sets(
    network: RecurrentModel,
    model: TraceModel,
    data: Dataset,
    sets: Mapping[str, NDArray[Any]],
    suspicious: Sequence[str],
    references: int,
    seed: int,
) -> CoverageMeasurement:
    """Coverage of the test set and of other sets, and detection of the suspicious ones.

    Args:
        network: the network under test.
        model: its Markov chain.
        data: references are drawn from its training inputs; its test inputs that the network
            classifies correctly stand for normal ones.
        sets: inputs ``(N, ...)`` by name.
        suspicious: names of the sets to be told from normal inputs.
        references: reference inputs of each class.
        seed: the run's seed.
    """
    test = trace_inputs(network, model, data.test_images, "test")
    detector = Detector(
        _draw_references(network, model, data, references, seed),
        test.only(test.predicted == data.test_labels),
    )
    metrics = {"test": _describe(model, test)}
    curves = [_curve("", "state", np.empty((0, 2)))]
    for name, inputs in sets.items():
        traces = trace_inputs(network, model, inputs, name)
        metrics[name] = _describe(model, traces)
        if name in suspicious and len(traces) and len(detector.normal):
            for items in ITEMS:
                area, curve = detector.roc(traces, items)
                metrics[name][f"{items}_similarity_auroc"] = area
                curves.append(_curve(name, items, curve))
    return CoverageMeasurement(metrics, pl.concat(curves))


def _draw_references(
    network: RecurrentModel, model: TraceModel, data: Dataset, per_class: int, seed: int
) -> Traces:
    """Traces of correctly classified training inputs, ``per_class`` of each class.

    A class with fewer such inputs gives all that it has, and the log says so.
    """
    rng = stream(seed, "measure_coverage", "references")
    labels = data.train_labels
    pending = {c: rng.permutation(np.flatnonzero(labels == c)) for c in range(data.classes)}
    # Twice as many as wanted at a time, so that enough are left when the misclassified are out.
    size = 2 * per_class
    found: list[Traces] = []
    known = np.zeros(data.classes, np.int64)
    while pending:
        drawn = np.sort(np.concatenate([order[:size] for order in pending.values()]))
        traces = trace_inputs(network, model, data.train_images[drawn], "references")
        found.append(traces.only(traces.predicted == labels[drawn]))
        known += np.bincount(found[-1].predicted, minlength=data.classes)
        pending = {
            c: order[size:]
            for c, order in pending.items()
            if known[c] < per_class and len(order) > size
        }
    for label in np.flatnonzero(known < per_class).tolist():
        log.warning(
            "fewer references than asked for", label=label, asked=per_class, found=int(known[label])
        )
    correct = Traces(
        np.concatenate([t.codes for t in found]), np.concatenate([t.predicted for t in found])
    )
    return correct.only(choose_references(correct.predicted, per_class, rng))


def _describe(model: TraceModel, traces: Traces) -> dict[str, float]:
    return {"inputs": len(traces), **measure_criteria(model, traces.codes)}


def _curve(name: str, items: Items, points: NDArray[np.float64]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "set": [name] * len(points),
            "similarity": [items] * len(points),
            "false_positive_rate": points[:, 0],
            "true_positive_rate": points[:, 1],
        },
        schema_overrides={"set": pl.String, "similarity": pl.String},
    )
