"""MEMO's seven operators: NLA, LResh, LMerg, LConn, CShape, CMode and NaN."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from asterism.memo.generating.operators import (
    MutationContext,
    add_layer,
    change_parameters,
    choose_edge,
    choose_kind,
    insert,
    list_float_nodes,
    list_own_layers,
    operator,
    weight_mutation,
)
from asterism.memo.generating.shape_adapters import adapt_to_shape, reshape_to_rank
from asterism.memo.graphs.graph import INPUT, SPECIAL, Graph, input_node
from asterism.memo.universe.layers import universe
from asterism.memo.universe.parameters import Number, Parameter, ShapeDependentParameter, Sizes
from asterism.memo.universe.tensors import INTEGER, INTEGER_BOUND

_RESHAPING = (
    "Reshape",
    "Permute",
    "Flatten",
    "RepeatVector",
    *(f"{kind}{axes}D" for kind in ("Cropping", "ZeroPadding", "UpSampling") for axes in (1, 2, 3)),
)
_MERGING = (
    "Add",
    "Subtract",
    "Multiply",
    "Average",
    "Maximum",
    "Minimum",
    "Concatenate",
    "Dot",
)


@operator("NLA", "memo")
def add_new_layers(graph: Graph, context: MutationContext) -> Graph:
    """Add layers on random edges, of a type not seen yet or that forms a new pair where it can."""
    return context.repeated(lambda graph: _add_new_layer(graph, context), graph)


def _add_new_layer(graph: Graph, context: MutationContext) -> Graph:
    after, reader = choose_edge(graph, context)
    kind = choose_kind(graph, after, reader, list(universe()), context)
    if universe()[kind].dtypes == (INTEGER,):
        return add_with_own_input(graph, kind, context)
    return insert(graph, after, kind, context, reader)


def add_with_own_input(graph: Graph, kind: str, context: MutationContext) -> Graph:
    """The graph with a layer that reads integers, from an input of its own."""
    shape = [int(v) for v in context.rng.integers(2, 6, context.pick([1, 1, 2, 3]))]
    node = input_node(shape, INTEGER)
    graph, source = graph.add(replace(node, config={**node.config, "bound": INTEGER_BOUND}))
    graph, new = add_layer(graph, kind, [source], context)
    # Joined to the rest where there is something to join; otherwise one more output.
    old = [o for o in graph.outputs if o != new]
    if not old:
        return graph
    graph, _ = add_layer(graph, "Concatenate", [new, context.pick(old)], context)
    return graph


@operator("LResh", "memo")
def insert_reshaping_layers(graph: Graph, context: MutationContext) -> Graph:
    """Insert layers that change the shape, and let what follows see another one.

    The output of each is only brought to the rank that its readers accept.
    """
    return context.repeated(lambda graph: _insert_reshaping_layer(graph, context), graph)


def _insert_reshaping_layer(graph: Graph, context: MutationContext) -> Graph:
    after = context.pick([i for i in list_float_nodes(graph) if graph.consumers[i]])
    reader = context.pick(graph.consumers[after])
    graph, new = add_layer(graph, context.pick(_RESHAPING), [after], context)
    spec = universe()[graph.nodes[reader].type]
    if spec.merges:
        graph, new = adapt_to_shape(graph, new, graph.tensors[after].shape)
    elif graph.tensors[new].rank not in spec.ranks:
        graph, new = reshape_to_rank(graph, new, graph.tensors[after].rank)
    return graph.redirect(after, new, [reader])


@operator("LMerg", "memo")
def merge_tensors(graph: Graph, context: MutationContext) -> Graph:
    """Join two tensors of the model by a merging layer, an uncovered pair first."""
    after, reader = choose_edge(graph, context)
    kind = choose_kind(graph, after, reader, _MERGING, context)
    return insert(graph, after, kind, context, reader)


@operator("LConn", "memo")
def connect_layers(graph: Graph, context: MutationContext) -> Graph:
    """Let a layer read another one that came before it, to form a new pair where there is one."""
    order = {i: at for at, i in enumerate(graph.nodes)}
    candidates = [
        (u, v)
        for v in list_own_layers(graph)
        for u in list_float_nodes(graph)
        if order[u] < order[v]
        and u not in graph.nodes[v].inputs
        and graph.nodes[u].type != INPUT
        and universe()[graph.nodes[v].type].dtypes != (INTEGER,)
    ]
    covered = context.coverage.pairs
    fresh = [
        (u, v)
        for u, v in candidates
        if context.guided and (graph.nodes[u].type, graph.nodes[v].type) not in covered
    ]
    source, reader = context.pick(fresh or candidates)
    node = graph.nodes[reader]
    at = int(context.rng.integers(len(node.inputs)))
    wanted = graph.tensors[node.inputs[at]]
    graph, source = adapt_to_shape(graph, source, wanted.shape)
    inputs = (*node.inputs[:at], source, *node.inputs[at + 1 :])
    return graph.change(reader, inputs=inputs)


@cache
def parameters_by_kind(shapes: bool) -> dict[str, tuple[Parameter, ...]]:
    """Parameters of every layer that set sizes, or all the others."""
    return {
        name: tuple(p for p in spec.parameters if _sets_sizes(p) == shapes)
        for name, spec in universe().items()
    }


def _sets_sizes(parameter: Parameter) -> bool:
    integer = isinstance(parameter, Number) and parameter.integer
    return integer or isinstance(parameter, Sizes | ShapeDependentParameter)


@operator("CShape", "memo")
def change_sizes(graph: Graph, context: MutationContext) -> Graph:
    """Draw parameters of a layer anew that set sizes (filters, units, windows, targets)."""
    kinds = parameters_by_kind(shapes=True)
    return context.repeated(lambda graph: change_parameters(graph, context, kinds), graph)


@operator("CMode", "memo")
def change_modes(graph: Graph, context: MutationContext) -> Graph:
    """Draw parameters of a layer anew that set how it computes (activation, padding, mode)."""
    kinds = parameters_by_kind(shapes=False)
    return context.repeated(lambda graph: change_parameters(graph, context, kinds), graph)


operator("NaN", "memo")(weight_mutation(SPECIAL))
