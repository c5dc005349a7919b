"""A score for each class, where scikit-learn's models give fewer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.models.onnx_graphs.graph_builder import GraphBuilder

#: Probabilities below this count as this.
_SMALLEST = np.float32(1e-6)


def class_scores(graph: GraphBuilder, scores: str, classes: int) -> str:
    """Scores ``(N, classes)`` from a model's own.

    Of two classes a model gives one score, the log odds of the second: a zero stands beside it.

    Args:
        graph: gets the nodes.
        scores: name of a value ``(N, classes)``, or ``(N, 1)`` for two classes.
        classes: how many the model knows.
    """
    if classes > 2:
        return scores
    zeros = graph.add("Mul", scores, graph.constant(np.array([0], np.float32)))
    return graph.add("Concat", zeros, scores, axis=1)


def logarithms(probabilities: NDArray[Any]) -> NDArray[Any]:
    """The logarithm of each probability, of the same shape and dtype."""
    logs: NDArray[Any] = np.log(np.maximum(probabilities, _SMALLEST))
    return logs


def add_logarithms(graph: GraphBuilder, probabilities: str) -> str:
    """Nodes that compute :func:`logarithms` of a float32 value; the name of their output."""
    floor = graph.constant(np.array([_SMALLEST], np.float32))
    return graph.add("Log", graph.add("Max", probabilities, floor))
