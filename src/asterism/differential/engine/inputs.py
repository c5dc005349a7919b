"""Sampling the inputs of a generated model from a named distribution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.random_streams import stream
from asterism.differential.adapters.fixed_draws import NOT_FIXED
from asterism.differential.adapters.questions import (
    FORMS,
    GRADIENT,
    HESSIAN,
    RESIZED,
    TRAINING,
    WEIGHT_GRADIENT,
    has_form,
)
from asterism.differential.params import InputDistribution
from asterism.memo.graphs.graph import Graph
from asterism.memo.universe.layers import universe
from asterism.memo.universe.tensors import INTEGER, INTEGER_BOUND

BATCH = 2

#: Distributions whose findings have a severity of their own: few users rely on what comes out.
SPECIAL_DISTRIBUTIONS = ("nan", "infinity", "empty", "denormal", "largest")
#: The number that one element of each item is.
_SPECIAL_NUMBERS = {"nan": np.nan, "infinity": np.inf}
#: Items in batches of another size than :data:`BATCH`.
_SIZES = {"empty": 0, RESIZED: 5}
#: Parameters of layers that draw random numbers in training, unless they are 0.
_RANDOM = frozenset({"rate", "stddev", "dropout", "recurrent_dropout"})
#: Normal inputs of a layer with an invalid configuration.
OUTSIDE = "outside"
DISTRIBUTIONS = get_args(InputDistribution)


def sample_inputs(graph: Graph, seed: int, model: int, distribution: str) -> list[NDArray[Any]]:
    """One batch for each input of a model.

    Args:
        graph: the model.
        seed: the run's seed.
        model: index of the model.
        distribution: ``normal``, the questions, ``overwritten``, ``split``, ``lengthened`` and
            ``outside`` (standard normal), ``wide`` (uniform in [-10, 10]), ``resized`` (normal,
            more items than the compiled model has seen first), ``nan`` and ``infinity`` (normal,
            with one such number in each item), ``empty`` (no items), ``denormal`` (below the
            dtype's smallest normal number), ``largest`` (from a tenth of its largest number up to
            that number, of both signs).

    Raises:
        UserError: no distribution has that name.
    """
    if distribution not in DISTRIBUTIONS:
        raise UserError(
            f"no distribution is called {distribution!r} (known: {', '.join(DISTRIBUTIONS)})"
        )
    arrays = []
    for at, identity in enumerate(graph.inputs):
        tensor = graph.tensors[identity]
        rng = stream(seed, "inputs", model, distribution, at)
        shape = (_SIZES.get(distribution, BATCH), *tensor.shape)
        if tensor.dtype == INTEGER:
            bound = min(_vocabularies(graph, identity), default=INTEGER_BOUND)
            arrays.append(rng.integers(0, bound, shape, np.int32))
            continue
        values = draw_floats(rng, shape, distribution)
        if distribution in ("denormal", "largest"):
            limits = np.finfo(tensor.dtype)
            largest = limits.tiny if distribution == "denormal" else limits.max
            values = np.sign(values) * rng.uniform(0.1, 1.0, shape) * float(largest)
        arrays.append(values.astype(tensor.dtype))
    return arrays


def draw_floats(
    rng: np.random.Generator, shape: Sequence[int], distribution: str
) -> NDArray[np.float64]:
    """Numbers as :func:`sample_inputs` describes them, but for what depends on a dtype.

    Args:
        rng: draws them.
        shape: the shape of the batch.
        distribution: ``wide``, ``nan`` and ``infinity`` are drawn otherwise than all others.
    """
    values = rng.uniform(-10, 10, shape) if distribution == "wide" else rng.normal(size=shape)
    if distribution in _SPECIAL_NUMBERS and values.size:
        items = values.reshape(len(values) if values.ndim > 1 else 1, -1)
        items[:, int(rng.integers(items.shape[1]))] = _SPECIAL_NUMBERS[distribution]
    return values


def special_inputs(seed: int, model: int, share: float) -> str | None:
    """The kind of special inputs that a model also runs with; None for the other models.

    Args:
        seed: the run's seed.
        model: index of the model.
        share: the share of the models that have one.
    """
    rng = stream(seed, "special inputs", model)
    if rng.random() >= share:
        return None
    return SPECIAL_DISTRIBUTIONS[int(rng.integers(len(SPECIAL_DISTRIBUTIONS)))]


def compared_nodes(graph: Graph, distributions: Iterable[str]) -> list[int]:
    """The nodes of which there are values to compare, in the order of the values.

    For derivatives by inputs these are the inputs, for those by weights the layers. For a step of
    training it is an output, which stands for the loss, and the layers. There are none where a
    question cannot be asked: of models of integers, and where training draws numbers that cannot
    be fixed.
    """
    asked = set(distributions)
    if any(not has_form(graph, form) for form in asked & FORMS.keys()):
        return []
    if asked & {GRADIENT, HESSIAN}:
        return [i for i in graph.inputs if graph.tensors[i].dtype != INTEGER]
    if WEIGHT_GRADIENT in asked:
        return list(graph.layers)
    if asked & set(TRAINING):
        return [] if NOT_FIXED.keys() & random_layers(graph) else [graph.outputs[0], *graph.layers]
    return list(graph.outputs)


def random_layers(graph: Graph) -> list[str]:
    """Types of the layers that draw random numbers in training."""
    found = set()
    for node in (graph.nodes[i] for i in graph.layers):
        known = universe()[node.type].known
        if any(node.config.get(name, known[name].default) for name in _RANDOM & known.keys()):
            found.add(node.type)
    return sorted(found)


def random_training(graph: Graph, distributions: Iterable[str]) -> bool:
    """Whether a model is asked for a step of training in which its layers draw numbers."""
    return not set(TRAINING).isdisjoint(distributions) and bool(random_layers(graph))


def _vocabularies(graph: Graph, identity: int) -> list[int]:
    """How many integers the embeddings that read an input know."""
    return [
        int(graph.nodes[i].config["input_dim"])
        for i in graph.consumers[identity]
        if graph.nodes[i].type == "Embedding"
    ]
