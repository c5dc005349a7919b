"""What a mutation operator is, and what all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import numpy as np

from asterism.core.registry import Registry
from asterism.memo.coverage import Coverage
from asterism.memo.graph import INPUT, Graph, Node
from asterism.memo.parameters import Parameter
from asterism.memo.repair import to_rank, to_shape, with_room
from asterism.memo.spec import LayerSpec, universe
from asterism.memo.tensors import INTEGER, Config, InvalidLayerError, Tensor, require

T = TypeVar("T")


@dataclass
class Context:
    """What an operator knows besides the graph.

    Args:
        rng: all of its randomness.
        coverage: what has been covered so far, so that it can aim at what has not.
        guided: whether it does aim.
    """

    rng: np.random.Generator
    coverage: Coverage = field(default_factory=Coverage)
    guided: bool = True

    def pick(self, items: Sequence[T]) -> T:
        """One of them.

        Raises:
            InvalidLayerError: there is none: the operator does not apply to the graph.
        """
        require(len(items) > 0, "the operator does not apply")
        return items[int(self.rng.integers(len(items)))]

    def wanted(self, layer: str, parameter: str) -> str | None:
        """An option that no model has covered yet, where there is one."""
        if not self.guided:
            return None
        declared = universe()[layer].parameter(parameter)
        assert declared is not None
        covered = self.coverage.parameters
        missing = [o for o in declared.options if (layer, parameter, o) not in covered]
        return self.pick(missing) if missing else None

    def seed(self) -> int:
        """A seed for new weights."""
        return int(self.rng.integers(2**31))


class Operator(ABC):
    """Makes a mutant of a graph."""

    #: Which method's operator it is: ``memo``, ``inputs`` (the later version's) or ``older``.
    family: ClassVar[str]

    @abstractmethod
    def mutate(self, graph: Graph, context: Context) -> Graph:
        """A mutant.

        Raises:
            InvalidLayerError: this draw led to no valid graph; another one may.
        """


OPERATORS: Registry[Operator] = Registry("operator", "asterism.memo.operators")


def own_layers(graph: Graph) -> list[int]:
    """The layers of a graph that are no repairs."""
    return [i for i in graph.layers if not graph.nodes[i].repair]


def float_nodes(graph: Graph) -> list[int]:
    """Nodes whose output any layer can read: no integers, no repairs."""
    return [
        i
        for i, t in graph.tensors.items()
        if t.dtype != INTEGER and not graph.nodes[i].repair
    ]


def configured(spec: LayerSpec, inputs: Sequence[Tensor], context: Context) -> Config:
    """A valid configuration for these inputs.

    Raises:
        InvalidLayerError: several draws gave none.
    """
    problem = InvalidLayerError(spec.name)
    for attempt in range(4):
        # Rarer changes from the defaults where many of them fit ill together.
        config = spec.draw(context.rng, inputs, context.wanted, 0.6 / (1 + attempt))
        try:
            spec.output(config, inputs)
        except InvalidLayerError as error:
            problem = error
        else:
            return config
    raise problem


def add_layer(
    graph: Graph, kind: str, sources: Sequence[int], context: Context
) -> tuple[Graph, int]:
    """The graph with a layer of that kind that reads ``sources``, repaired so that it can.

    Raises:
        InvalidLayerError: no configuration was found that takes them.
    """
    spec = universe()[kind]
    first = sources[0]
    rank = graph.tensors[first].rank
    if rank not in spec.ranks:
        rank = context.pick(sorted(spec.ranks))
        graph, first = to_rank(graph, first, rank)
    inputs = [first]
    for source in sources[1:]:
        graph, other = to_shape(graph, source, graph.tensors[first].shape)
        inputs.append(other)
    try:
        config = configured(spec, [graph.tensors[i] for i in inputs], context)
    except InvalidLayerError:
        if spec.merges:
            raise
        graph, roomy = with_room(graph, first, rank)
        inputs = [roomy]
        config = configured(spec, [graph.tensors[roomy]], context)
    return graph.add(Node(kind, config, tuple(inputs), context.seed()))


def splice(graph: Graph, after: int, end: int, readers: Sequence[int]) -> Graph:
    """Let ``readers`` of ``after`` read ``end`` instead, brought to the shape that they know.

    Raises:
        InvalidLayerError: the readers cannot take it.
    """
    if not readers:
        return graph
    graph, restored = to_shape(graph, end, graph.tensors[after].shape)
    return graph.redirect(after, restored, readers)


def insert(graph: Graph, after: int, kind: str, context: Context) -> Graph:
    """A new layer between ``after`` and one of its readers, or behind it where nobody reads it.

    Raises:
        InvalidLayerError: it does not fit.
    """
    spec = universe()[kind]
    sources = [after]
    if spec.merges:
        earlier = [i for i in float_nodes(graph) if i in graph.keep([after]).nodes]
        low, high = spec.arity
        for _ in range(int(context.rng.integers(low, min(high, 3) + 1)) - 1):
            sources.append(context.pick(earlier))
    readers = list(graph.consumers[after])
    chosen = [context.pick(readers)] if readers else []
    graph, new = add_layer(graph, kind, sources, context)
    return splice(graph, after, new, chosen)


def reconfigure(graph: Graph, identity: int, config: Config) -> Graph:
    """The graph with a layer configured anew; its readers get the shape that they know.

    Raises:
        InvalidLayerError: the layer cannot take its inputs so configured.
    """
    node = graph.nodes[identity]
    try:
        return graph.change(identity, config=config)
    except InvalidLayerError:
        readers = list(graph.consumers[identity])
        require(bool(readers), "the configuration does not fit the input")
    changed, new = graph.add(
        Node(node.type, config, node.inputs, node.seed, node.weights, node.edits)
    )
    return splice(changed, identity, new, readers).keep(
        [new if o == identity else o for o in graph.outputs] or [new]
    )


def change_parameter(
    graph: Graph, context: Context, eligible: dict[str, tuple[Parameter, ...]]
) -> Graph:
    """One parameter of one layer drawn anew, uncovered options first.

    Args:
        graph: what to mutate.
        context: guidance and randomness.
        eligible: parameters by layer type that the operator may change.

    Raises:
        InvalidLayerError: the drawn value does not fit.
    """
    layers = [i for i in own_layers(graph) if eligible.get(graph.nodes[i].type)]
    identity = context.pick(layers)
    node = graph.nodes[identity]
    parameters = eligible[node.type]
    missing = [p for p in parameters if context.wanted(node.type, p.name) is not None]
    parameter = context.pick(missing or list(parameters))
    inputs = [graph.tensors[i] for i in node.inputs]
    value = parameter.draw(context.rng, inputs, context.wanted(node.type, parameter.name))
    return reconfigure(graph, identity, {**node.config, parameter.name: value})


def is_input(graph: Graph, identity: int) -> bool:
    """Whether the node is an input of the model."""
    return graph.nodes[identity].type == INPUT
