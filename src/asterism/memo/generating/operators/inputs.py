"""The three operators of the later version (COMET): rank, shape and dtype of a layer's input."""

from __future__ import annotations

from dataclasses import replace

from asterism.memo.generating.operators import (
    MutationContext,
    draw_config,
    list_own_layers,
    operator,
    splice,
)
from asterism.memo.generating.shape_adapters import adapt_to_shape, reshape_to_rank
from asterism.memo.graphs.graph import Graph
from asterism.memo.universe.layers import universe
from asterism.memo.universe.tensors import FLOATS, INTEGER, Config


def _reread(graph: Graph, identity: int, source: int, context: MutationContext) -> Graph:
    """The layer reads ``source`` instead, configured anew where it must be."""
    node = graph.nodes[identity]
    spec = universe()[node.type]
    inputs = [graph.tensors[source]]
    config: Config = node.config
    try:
        spec.output(config, inputs)
    except ValueError:
        config = draw_config(spec, inputs, context)
    readers = graph.consumers[identity]
    graph, new = graph.add(replace(node, inputs=(source,), config=config))
    outputs = [new if o == identity else o for o in graph.outputs]
    return splice(graph, identity, new, readers).keep({o for o in outputs if o != identity})


def _single_input_layers(graph: Graph) -> list[int]:
    return [
        i
        for i in list_own_layers(graph)
        if len(graph.nodes[i].inputs) == 1
        and graph.tensors[graph.nodes[i].inputs[0]].dtype != INTEGER
    ]


@operator("MRank", "inputs")
def change_input_rank(graph: Graph, context: MutationContext) -> Graph:
    """Feed a layer a tensor of another rank that it accepts, an uncovered (layer, rank) first."""
    covered = context.coverage.inputs
    candidates = [
        (i, rank)
        for i in _single_input_layers(graph)
        for rank in sorted(universe()[graph.nodes[i].type].ranks)
        if rank != graph.tensors[graph.nodes[i].inputs[0]].rank
    ]
    fresh = [
        (i, rank)
        for i, rank in candidates
        if context.guided and (graph.nodes[i].type, rank, "float32") not in covered
    ]
    identity, rank = context.pick(fresh or candidates)
    graph, source = reshape_to_rank(graph, graph.nodes[identity].inputs[0], rank)
    return _reread(graph, identity, source, context)


@operator("MShape", "inputs")
def change_input_shape(graph: Graph, context: MutationContext) -> Graph:
    """Feed a layer a tensor of the same rank in which one axis is longer or shorter."""
    identity = context.pick(_single_input_layers(graph))
    source = graph.nodes[identity].inputs[0]
    shape = list(graph.tensors[source].shape)
    axis = int(context.rng.integers(len(shape)))
    shape[axis] = int(context.rng.integers(1, 2 * shape[axis] + 2))
    graph, source = adapt_to_shape(graph, source, tuple(shape))
    return _reread(graph, identity, source, context)


@operator("MDtype", "inputs")
def change_input_dtype(graph: Graph, context: MutationContext) -> Graph:
    """Let the producer of a layer's input compute in another dtype.

    An uncovered (layer, rank, dtype) comes first.
    """
    covered = context.coverage.inputs
    candidates = [
        (node.inputs[0], dtype)
        for i in list_own_layers(graph)
        for node in [graph.nodes[i]]
        for tensor in [graph.tensors[node.inputs[0]]]
        for dtype in FLOATS
        if tensor.dtype not in (dtype, INTEGER)
        and not (
            context.guided
            and (node.type, tensor.rank, dtype) in covered
            and context.rng.random() < 0.9
        )
    ]
    source, dtype = context.pick(candidates)
    return graph.change(source, config={**graph.nodes[source].config, "dtype": dtype})
