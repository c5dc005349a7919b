"""Similarity of traces, and telling unusual inputs by it (sections 4.2 and 5).

Two inputs are as alike as the sets of abstract states (or transitions) that their traces visit:
the Jaccard index of the two sets. An input whose trace is unlike those of correctly handled
inputs of the class that it is put into is suspicious: adversarial, or a crash.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import roc_auc_score, roc_curve

from asterism.core.random_streams import mix

Items = Literal["state", "transition"]
ITEMS: tuple[Items, ...] = ("state", "transition")


def item_codes(codes: NDArray[np.int64], items: Items) -> NDArray[np.int64]:
    """What traces ``(N, T)`` visit, one integer an item: their codes, or their steps.

    A step from ``a`` to ``b`` is named by mixing both codes into 63 bits; two steps share a
    name with a chance of about 1e-19.
    """
    if items == "state":
        return codes
    source = codes[:, :-1].astype(np.uint64)
    target = codes[:, 1:].astype(np.uint64)
    mixed = mix(mix(source) + target)
    return (mixed >> np.uint64(1)).astype(np.int64)


def jaccard(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
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
    """Mean similarity of each trace to the reference traces of the class it is put into.

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
            similarity[mine] = jaccard(traces[mine], known[its]).mean(axis=1)
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
