"""Delta debugging of a finding: fewer layers, then default parameters, then smaller shapes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from asterism.differential.reducing.reduce import bypass, renumber_nodes, without_branch
from asterism.differential.shrinking.reducer import Reducer, RunnableParts, TriageBudget
from asterism.memo.graphs.graph import INPUT, Graph, Node, input_node
from asterism.memo.universe.layers import universe
from asterism.memo.universe.tensors import INTEGER, InvalidLayerError


def shrink_model(
    graph: Graph, shows: Callable[[Graph], bool], budget: TriageBudget, suspect: int | None = None
) -> Graph:
    """The smallest model found that shows a finding.

    Args:
        graph: shows it.
        shows: whether a model still does; asked for every candidate.
        budget: the budget of candidates.
        suspect: the layer that is tried alone first, where one is known.
    """
    reducer = Reducer(shows, lambda model: json.dumps(model.to_json(), sort_keys=True), budget)
    graph = reducer.fewest(graph, layers_of(graph), suspect)
    graph = reducer.repeat(graph, _removals)
    changes = [c for i in graph.layers for c in _off_default(graph, i)]
    graph = reducer.in_groups(graph, changes, _reset)
    return renumber_nodes(reducer.repeat(graph, _shapes))


def _removals(graph: Graph) -> Iterator[Graph]:
    """Outputs dropped, prefixes cut off, layers bypassed, branches taken away."""
    outputs = graph.outputs
    if len(outputs) > 1:
        yield from (graph.keep([output]) for output in outputs)
    if len(outputs) > 2:
        yield from (graph.keep([o for o in outputs if o != gone]) for gone in outputs)
    for identity in reversed(graph.layers):
        rest = set(graph.layers) - set(graph.keep([identity]).nodes)
        if rest:
            yield isolate_layers(graph, rest)
    for identity in reversed(graph.layers):
        node = graph.nodes[identity]
        for at, source in enumerate(node.inputs):
            for smaller in (bypass(graph, source, identity), without_branch(graph, identity, at)):
                if smaller is not None and 0 < len(smaller.layers) < len(graph.layers):
                    yield smaller


def _shapes(graph: Graph) -> Iterator[Graph]:
    """One axis of one input smaller, one number of one layer's size smaller."""
    for identity in (*graph.inputs, *graph.layers):
        config = graph.nodes[identity].config
        for name in (n for n in _SIZES if n in config):
            for smaller in _smaller(config[name]):
                with suppress(InvalidLayerError):
                    yield graph.change(identity, config={**config, name: smaller})


def layers_of(graph: Graph) -> RunnableParts[Graph]:
    """The layers of a model as its parts."""
    layers = graph.layers

    def sources(identity: int) -> list[int]:
        return [source for source in graph.nodes[identity].inputs if source in layers]

    return RunnableParts(layers, sources, lambda chosen: isolate_layers(graph, chosen))


#: What says how large an input is, and a layer.
_SIZES = ("shape", "filters", "units", "kernel_size")


def _smaller(size: Any) -> Iterator[Any]:
    """A number, or one of several, smaller: to what is worth a try."""
    if isinstance(size, int):
        yield from sorted({1, 2, 3, size // 2} & set(range(1, size)))
    else:
        for at, one in enumerate(size):
            yield from ([*size[:at], smaller, *size[at + 1 :]] for smaller in _smaller(one))


#: A node and the name of one of its parameters, or of its edits of weights.
Change = tuple[int, str]
_EDITS = "edits of weights"


def _off_default(graph: Graph, identity: int) -> list[Change]:
    """What of a layer is not as a layer is by default."""
    node = graph.nodes[identity]
    defaults = universe()[node.type].defaults()
    names = [n for n, v in sorted(node.config.items()) if n in defaults and defaults[n] != v]
    return [(identity, name) for name in ([_EDITS] if node.edits else []) + names]


def _reset(graph: Graph, changes: Iterable[Change]) -> Graph | None:
    """The graph with these back at their defaults, None where it is no valid one then."""
    nodes = dict(graph.nodes)
    for identity, name in changes:
        node = nodes[identity]
        if name == _EDITS:
            nodes[identity] = replace(node, edits=())
        else:
            default = universe()[node.type].defaults()[name]
            nodes[identity] = replace(node, config={**node.config, name: default})
    try:
        return graph.with_nodes(nodes)
    except InvalidLayerError:
        return None


def isolate_layers(graph: Graph, layers: set[int]) -> Graph:
    """Only these layers: what they read from elsewhere becomes inputs of the model."""
    nodes: dict[int, Node] = {}
    fresh = graph.next_id
    for identity in graph.nodes:
        if identity not in layers:
            continue
        sources = []
        for source in graph.nodes[identity].inputs:
            if source not in layers:
                original, tensor = graph.nodes[source], graph.tensors[source]
                kept = original.type == INPUT and tensor.dtype == INTEGER
                nodes[fresh] = original if kept else input_node(tensor.shape, tensor.dtype)
                source, fresh = fresh, fresh + 1
            sources.append(source)
        nodes[identity] = replace(graph.nodes[identity], inputs=tuple(sources), repair=False)
    return Graph(nodes)
