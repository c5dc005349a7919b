"""Configurations just outside of what the universe calls valid: one value of one layer is off.

All libraries are to reject them, or to agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from asterism.core.random_streams import stream
from asterism.memo.graphs.graph import Graph, Node, input_node
from asterism.memo.universe.layers import LayerSpec, universe
from asterism.memo.universe.parameters import is_whole
from asterism.memo.universe.tensors import Config, InvalidLayerError, Tensor

#: What a shape rule may raise for a configuration that it does not expect.
_REJECTIONS = (InvalidLayerError, ValueError, IndexError, TypeError, ArithmeticError, KeyError)


@dataclass(frozen=True)
class InvalidConfiguration:
    """A layer with a configuration that the universe calls invalid.

    Args:
        graph: the layer alone, as it is valid.
        changed: the parameter that is not, with its value.
    """

    graph: Graph
    changed: Config

    def __str__(self) -> str:
        node = self.graph.nodes[self.graph.layers[0]]
        shapes = ", ".join(str(self.graph.tensors[i].shape) for i in self.graph.inputs)
        named = ", ".join(f"{name}={value}" for name, value in self.changed.items())
        return f"{node.type}({named}) on {shapes}"


def draw_invalid_configuration(graph: Graph, seed: int, model: int) -> InvalidConfiguration | None:
    """A layer of a model with one invalid value; None if no draw finds one.

    Args:
        graph: the model.
        seed: the run's seed.
        model: index of the model.
    """
    rng = stream(seed, "outside", model)
    for layer in rng.permutation(np.asarray(graph.layers)):
        node = graph.nodes[int(layer)]
        spec, inputs = universe()[node.type], [graph.tensors[i] for i in node.inputs]
        candidates = [] if spec.wraps else list(_candidates({**spec.defaults(), **node.config}))
        for number in rng.permutation(len(candidates)):
            changed = candidates[int(number)]
            if _is_outside(spec, {**node.config, **changed}, inputs):
                nodes = {i: input_node(t.shape, t.dtype) for i, t in enumerate(inputs)}
                alone = Node(node.type, node.config, tuple(nodes), seed=node.seed)
                return InvalidConfiguration(Graph({**nodes, len(nodes): alone}), changed)
    return None


def is_invalid_configuration_due(seed: int, model: int, share: float) -> bool:
    """Whether a model is in the share that is tried with an invalid configuration."""
    return bool(stream(seed, "outside share", model).random() < share)


def _candidates(config: Config) -> Iterator[Config]:
    """A configuration's whole numbers, one at a time: 0, negative, one more, and much more."""
    for name, value in sorted(config.items()):
        if is_whole(value):
            yield from ({name: other} for other in _off(value))
        elif isinstance(value, list) and value and all(is_whole(v) for v in value):
            for at, number in enumerate(value):
                for other in _off(number):
                    yield {name: [*value[:at], other, *value[at + 1 :]]}
            yield {name: value[:-1]}


def _off(value: int) -> list[int]:
    return [v for v in (0, -1, value + 1, 2 * value + 7) if v != value]


def _is_outside(spec: LayerSpec, config: Config, inputs: list[Tensor]) -> bool:
    try:
        spec.output(config, inputs)
    except _REJECTIONS:
        return True
    return False
