"""Fitting a last layer to features, in a few steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def ridge(features: Array, targets: Array, strength: float = 1e-3) -> tuple[Array, Array]:
    """Weights ``(F, K)`` and biases of the linear layer of least squares."""
    mean, spread = _moments(features)
    x, middle = (features - mean) / spread, targets.mean(axis=0)
    gram = x.T @ x + strength * len(x) * np.eye(x.shape[1])
    weight = np.linalg.solve(gram, x.T @ (targets - middle)) / spread[:, np.newaxis]
    return weight, middle - mean @ weight


def logistic(
    features: Array, targets: Array, softmax: bool, steps: int = 300
) -> tuple[Array, Array]:
    """Weights and biases of the linear layer before a softmax, or before sigmoids.

    Args:
        features: ``(N, F)``.
        targets: ``(N, K)`` of 0 and 1.
        softmax: else each column is on its own.
        steps: of Adam, with all rows.
    """
    mean, spread = _moments(features)
    x = np.column_stack([(features - mean) / spread, np.ones(len(features))])
    weight = np.zeros((x.shape[1], targets.shape[1]))
    first, second = np.zeros_like(weight), np.zeros_like(weight)
    for step in range(1, steps + 1):
        scores = x @ weight
        if softmax:
            odds = np.exp(scores - scores.max(axis=1, keepdims=True))
            odds /= odds.sum(axis=1, keepdims=True)
        else:
            odds = 1 / (1 + np.exp(-scores))
        slope = x.T @ (odds - targets) / len(x) + 1e-4 * weight
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        weight -= 0.1 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    scaled = weight[:-1] / spread[:, np.newaxis]
    return scaled, weight[-1] - mean @ scaled


def _moments(features: Array) -> tuple[Array, Array]:
    return features.mean(axis=0), features.std(axis=0) + 1e-4
