"""Inputs that a model is run on: several draws, a lane of special ones of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.randomness.random_streams import stream
from asterism.libraries.running.params import Draw
from asterism.memo.graphs.graph import Graph
from asterism.memo.universe.tensors import INTEGER, INTEGER_BOUND

BATCH = 2

#: Draws whose findings have a severity of their own: few users rely on what comes out.
SPECIAL_DRAWS = ("nan", "infinity", "empty")
#: Inputs by which outputs are differentiated: their gradients are compared in place of outputs.
GRADIENT = "gradient"
DRAWS = get_args(Draw)


def draw_inputs(graph: Graph, seed: int, model: int, draw: str) -> list[NDArray[Any]]:
    """One batch for each input of a model.

    Args:
        graph: the model.
        seed: the run's seed.
        model: index of the model.
        draw: ``normal`` and ``gradient`` (standard normal), ``wide`` (uniform in [-10, 10]),
            ``nan`` and ``infinity`` (normal, with one such number in each item), ``empty`` (no
            items).

    Raises:
        UserError: no draw has that name.
    """
    if draw not in DRAWS:
        raise UserError(f"no draw is called {draw!r} (known: {', '.join(DRAWS)})")
    arrays = []
    for at, identity in enumerate(graph.inputs):
        tensor = graph.tensors[identity]
        rng = stream(seed, "inputs", model, draw, at)
        shape = (0 if draw == "empty" else BATCH, *tensor.shape)
        if tensor.dtype == INTEGER:
            bound = min(_vocabularies(graph, identity), default=INTEGER_BOUND)
            arrays.append(rng.integers(0, bound, shape, np.int32))
            continue
        values = rng.uniform(-10, 10, shape) if draw == "wide" else rng.normal(size=shape)
        if draw in ("nan", "infinity"):
            flat = values.reshape(BATCH, -1)
            flat[:, int(rng.integers(flat.shape[1]))] = np.nan if draw == "nan" else np.inf
        arrays.append(values.astype(tensor.dtype))
    return arrays


def compared_nodes(graph: Graph, draws: Iterable[str]) -> list[int]:
    """The nodes whose values are compared or, with gradients, the inputs that they are by."""
    if GRADIENT in draws:
        return [i for i in graph.inputs if graph.tensors[i].dtype != INTEGER]
    return list(graph.outputs)


def _vocabularies(graph: Graph, identity: int) -> list[int]:
    """How many integers the embeddings that read an input know."""
    return [
        int(graph.nodes[i].config["input_dim"])
        for i in graph.consumers[identity]
        if graph.nodes[i].type == "Embedding"
    ]
