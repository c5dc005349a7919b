"""Mutation operators: what one is, and what all of them share; a module for each origin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from asterism.core.parameters.registry import Registry
from asterism.memo.generating.shape_adapters import adapt_to_shape, pad_for_window, reshape_to_rank
from asterism.memo.graphs.coverage import Coverage, declared_coverage
from asterism.memo.graphs.graph import Graph, Node, WeightEdit
from asterism.memo.universe.layers import LayerSpec, universe
from asterism.memo.universe.parameters import Parameter
from asterism.memo.universe.tensors import INTEGER, Config, InvalidLayerError, Tensor, require_valid

T = TypeVar("T")


@dataclass
class MutationContext:
    """What a mutation operator knows besides the graph.

    Args:
        rng: all of its randomness.
        coverage: what has been covered so far, so that it can aim at what has not.
        guided: whether it does aim.
        most: layers that one mutation adds or changes, at most.
    """

    rng: np.random.Generator
    coverage: Coverage = field(default_factory=Coverage)
    guided: bool = True
    most: int = 1

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, drawn at random.

        Raises:
            InvalidLayerError: there is none: the operator does not apply to the graph.
        """
        require_valid(len(items) > 0, "the operator does not apply")
        return items[int(self.rng.integers(len(items)))]

    def wanted(self, layer: str, parameter: str) -> str | None:
        """An option that no model has covered yet, where there is one."""
        if not self.guided:
            return None
        options, covered = universe()[layer].known[parameter].options, self.coverage.parameters
        missing = [option for option in options if (layer, parameter, option) not in covered]
        return self.pick(missing) if missing else None

    def repeated(self, mutate: Callable[[Graph], Graph], graph: Graph) -> Graph:
        """The graph after one to ``most`` mutations, of which the first has to succeed.

        Raises:
            InvalidLayerError: it did not.
        """
        times = 1 if self.most == 1 else int(self.rng.integers(1, self.most + 1))
        graph = mutate(graph)
        for _ in range(times - 1):
            with suppress(InvalidLayerError):
                graph = mutate(graph)
        return graph

    def seed(self) -> int:
        """A seed for new weights."""
        return int(self.rng.integers(2**31))


#: Makes a mutant of a graph. It raises InvalidLayerError where a draw led to no valid graph:
#: another one may.
Mutation = Callable[[Graph, MutationContext], Graph]


@dataclass(frozen=True)
class MutationOperator:
    """A mutation operator.

    Args:
        mutate: makes a mutant.
        family: whose operator it is: ``memo``, ``inputs`` (the later version's) or ``older``.
    """

    mutate: Mutation
    family: str


OPERATORS: Registry[MutationOperator] = Registry("operator", "asterism.memo.generating.operators")


def operator(name: str, family: str) -> Callable[[Mutation], Mutation]:
    """Decorator that files a mutation as the operator ``name`` of a family."""

    def file(mutate: Mutation) -> Mutation:
        OPERATORS.register(name)(MutationOperator(mutate, family))
        return mutate

    return file


def list_own_layers(graph: Graph) -> list[int]:
    """The layers of a graph that are no shape adapters."""
    return [i for i in graph.layers if not graph.nodes[i].repair]


def list_float_nodes(graph: Graph) -> list[int]:
    """Nodes whose output any layer can read: no integers, no repairs."""
    return [i for i, t in graph.tensors.items() if t.dtype != INTEGER and not graph.nodes[i].repair]


def draw_config(spec: LayerSpec, inputs: Sequence[Tensor], context: MutationContext) -> Config:
    """A valid configuration for these inputs.

    Raises:
        InvalidLayerError: several draws gave none.
    """
    problem = InvalidLayerError(spec.name)
    for attempt in range(4):
        # Rarer changes from the defaults where many of them fit ill together.
        variation = (1.0 if context.guided else 0.6) / (1 + attempt)
        config = spec.draw(context.rng, inputs, context.wanted, variation)
        try:
            spec.output(config, inputs)
        except InvalidLayerError as error:
            problem = error
        else:
            return config
    raise problem


def add_layer(
    graph: Graph, kind: str, sources: Sequence[int], context: MutationContext
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
        graph, first = reshape_to_rank(graph, first, rank)
    inputs = [first]
    for source in sources[1:]:
        graph, other = adapt_to_shape(graph, source, graph.tensors[first].shape)
        inputs.append(other)
    try:
        config = draw_config(spec, [graph.tensors[i] for i in inputs], context)
    except InvalidLayerError:
        if spec.merges:
            raise
        graph, roomy = pad_for_window(graph, first, rank)
        inputs = [roomy]
        config = draw_config(spec, [graph.tensors[roomy]], context)
    return graph.add(Node(kind, config, tuple(inputs), context.seed()))


def splice(graph: Graph, after: int, end: int, readers: Sequence[int]) -> Graph:
    """Let ``readers`` of ``after`` read ``end`` instead, brought to the shape that they know.

    Raises:
        InvalidLayerError: the readers cannot take it.
    """
    if not readers:
        return graph
    graph, restored = adapt_to_shape(graph, end, graph.tensors[after].shape)
    return graph.redirect(after, restored, readers)


def insert(
    graph: Graph, after: int, kind: str, context: MutationContext, reader: int | None = None
) -> Graph:
    """A new layer between ``after`` and ``reader``, or behind it where that is None.

    Raises:
        InvalidLayerError: it does not fit.
    """
    spec = universe()[kind]
    sources = [after]
    if spec.merges:
        earlier = [i for i in list_float_nodes(graph) if i in graph.keep([after]).nodes]
        low, high = spec.arity
        for _ in range(int(context.rng.integers(low, min(high, 3) + 1)) - 1):
            sources.append(context.pick(earlier))
    graph, new = add_layer(graph, kind, sources, context)
    return splice(graph, after, new, [] if reader is None else [reader])


def choose_edge(graph: Graph, context: MutationContext) -> tuple[int, int | None]:
    """A node and one of its readers, or None for a reader where there is none."""
    after = context.pick(list_float_nodes(graph))
    readers = graph.consumers[after]
    return after, context.pick(readers) if readers else None


def choose_kind(
    graph: Graph, after: int, reader: int | None, kinds: Sequence[str], context: MutationContext
) -> str:
    """The layer type to put on an edge.

    Guided, it is one that nobody has covered, else one that forms two new pairs with its
    neighbours, else one new pair; types that need no reshaping first.
    """
    if not context.guided:
        return context.pick(kinds)
    unseen = [k for k in kinds if k not in context.coverage.types]
    if unseen:
        return context.pick(unseen)
    rank = graph.tensors[after].rank
    covered, whole = context.coverage.pairs, declared_coverage().pairs
    before, behind = graph.nodes[after].type, "" if reader is None else graph.nodes[reader].type
    best: list[str] = []
    most = -1.0
    for kind in kinds:
        new = sum(p in whole and p not in covered for p in ((before, kind), (kind, behind)))
        worth = new + 0.5 * (rank in universe()[kind].ranks)
        if worth > most:
            best, most = [], worth
        if worth == most:
            best.append(kind)
    return context.pick(best)


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
        require_valid(bool(readers), "the configuration does not fit the input")
    changed, new = graph.add(
        Node(node.type, config, node.inputs, node.seed, node.weights, node.edits)
    )
    return splice(changed, identity, new, readers).keep(
        [new if o == identity else o for o in graph.outputs] or [new]
    )


def change_parameters(
    graph: Graph, context: MutationContext, eligible: dict[str, tuple[Parameter, ...]]
) -> Graph:
    """Parameters of one layer drawn anew: all that have options nobody covered, else one of them.

    Args:
        graph: what to mutate.
        context: guidance and randomness.
        eligible: parameters by layer type that the operator may change.

    Raises:
        InvalidLayerError: no drawn value fits.
    """
    identity = context.pick(
        [i for i in list_own_layers(graph) if eligible.get(graph.nodes[i].type)]
    )
    node = graph.nodes[identity]
    inputs = [graph.tensors[i] for i in node.inputs]
    wanted = {p.name: context.wanted(node.type, p.name) for p in eligible[node.type]}
    missing = [p for p in eligible[node.type] if wanted[p.name] is not None]
    config = node.config
    for parameter in missing or [context.pick(eligible[node.type])]:
        value = parameter.draw(context.rng, inputs, wanted[parameter.name])
        try:
            universe()[node.type].output({**config, parameter.name: value}, inputs)
        except InvalidLayerError:
            continue
        config = {**config, parameter.name: value}
    require_valid(config != node.config, "no drawn value fits, or they are the old ones")
    return reconfigure(graph, identity, config)


def weight_mutation(kind: str) -> Mutation:
    """A mutation that marks a layer that (most likely) has weights: they are edited when made.

    Args:
        kind: the kind of the edit, one of :data:`~asterism.memo.graphs.weights.WEIGHT_EDITS`.
    """

    def mutate(graph: Graph, context: MutationContext) -> Graph:
        identity = context.pick([i for i in list_own_layers(graph) if _has_weights(graph.nodes[i])])
        edit = WeightEdit(kind, context.seed())
        return graph.change(identity, edits=(*graph.nodes[identity].edits, edit))

    return mutate


def _has_weights(node: Node) -> bool:
    return any(p.name.endswith("_initializer") for p in universe()[node.type].parameters)
