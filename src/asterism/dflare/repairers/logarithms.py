"""Logarithms of probabilities that stay finite: what softmax makes the probabilities of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.models.onnx_graphs.graph_builder import GraphBuilder

#: Probabilities below this count as this.
_SMALLEST = np.float32(1e-6)


def logarithms(probabilities: NDArray[Any]) -> NDArray[Any]:
    """The logarithm of each probability, of the same shape and dtype."""
    logs: NDArray[Any] = np.log(np.maximum(probabilities, _SMALLEST))
    return logs


def add_logarithms(graph: GraphBuilder, probabilities: str) -> str:
    """Nodes that compute :func:`logarithms` of a float32 value; the name of their output."""
    floor = graph.constant(np.array([_SMALLEST], np.float32))
    return graph.add("Log", graph.add("Max", probabilities, floor))
