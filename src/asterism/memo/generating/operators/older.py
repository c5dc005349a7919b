"""Operators of LEMON, DeepMutation and Audee: the MEMO_o baseline.

They are unguided, as they were: weights are shuffled, fuzzed, blocked, inverted and switched,
activations removed and replaced, layers added, copied, removed and switched where shapes stay
as they are, and (Audee) a parameter is drawn anew.
"""

from __future__ import annotations

from dataclasses import replace

from asterism.memo.generating.operators import (
    MutationContext,
    change_parameters,
    choose_edge,
    insert,
    list_own_layers,
    operator,
    weight_mutation,
)
from asterism.memo.graphs.graph import Graph
from asterism.memo.universe.layers import universe
from asterism.memo.universe.tensors import require_valid

#: What LEMON adds: layers that keep the shape of their input.
_KEEPS_SHAPE = (
    "Activation",
    "BatchNormalization",
    "Dropout",
    "ELU",
    "GaussianNoise",
    "LayerNormalization",
    "LeakyReLU",
    "PReLU",
    "ReLU",
    "Softmax",
)


@operator("ARem", "older")
def remove_activation(graph: Graph, context: MutationContext) -> Graph:
    """A layer's activation becomes linear."""
    layers = [
        i
        for i in list_own_layers(graph)
        if graph.nodes[i].config.get("activation", "linear") != "linear"
    ]
    identity = context.pick(layers)
    return graph.change(identity, config={**graph.nodes[identity].config, "activation": "linear"})


@operator("ARep", "older")
def replace_activation(graph: Graph, context: MutationContext) -> Graph:
    """A layer that has an activation gets another one."""
    eligible = {
        name: tuple(p for p in spec.parameters if p.name == "activation")
        for name, spec in universe().items()
    }
    return change_parameters(graph, context, eligible)


@operator("LA", "older")
def add_one_layer(graph: Graph, context: MutationContext) -> Graph:
    """Add a layer that keeps shapes on a random edge."""
    after, reader = choose_edge(graph, context)
    return insert(graph, after, context.pick(_KEEPS_SHAPE), context, reader)


@operator("MLA", "older")
def add_several_layers(graph: Graph, context: MutationContext) -> Graph:
    """Add two to four layers that keep shapes."""
    for _ in range(int(context.rng.integers(2, 5))):
        graph = add_one_layer(graph, context)
    return graph


def _shape_keepers(graph: Graph) -> list[int]:
    return [
        i
        for i in list_own_layers(graph)
        if len(graph.nodes[i].inputs) == 1
        and graph.tensors[i] == graph.tensors[graph.nodes[i].inputs[0]]
    ]


@operator("LC", "older")
def copy_layer(graph: Graph, context: MutationContext) -> Graph:
    """Repeat a layer that keeps its shape: the copy reads it, with the same weights."""
    identity = context.pick(_shape_keepers(graph))
    readers = graph.consumers[identity]
    graph, copy = graph.add(replace(graph.nodes[identity], inputs=(identity,)))
    return graph.redirect(identity, copy, readers) if readers else graph


@operator("LR", "older")
def remove_layer(graph: Graph, context: MutationContext) -> Graph:
    """Take out a layer that keeps its shape: its readers read what it read."""
    identity = context.pick([i for i in _shape_keepers(graph) if graph.consumers[i]])
    graph = graph.redirect(identity, graph.nodes[identity].inputs[0])
    return Graph({i: n for i, n in graph.nodes.items() if i != identity})


@operator("LS", "older")
def switch_layers(graph: Graph, context: MutationContext) -> Graph:
    """Two layers with the same shapes change places: types, configurations and weights."""
    one = context.pick(_shape_keepers(graph))
    same = [i for i in _shape_keepers(graph) if i != one and graph.tensors[i] == graph.tensors[one]]
    require_valid(bool(same), "no other layer has the same shapes")
    two = context.pick(same)
    first, second = graph.nodes[one], graph.nodes[two]
    return graph.with_nodes(
        {
            **graph.nodes,
            one: replace(second, inputs=first.inputs),
            two: replace(first, inputs=second.inputs),
        }
    )


@operator("CC", "older")
def change_configuration(graph: Graph, context: MutationContext) -> Graph:
    """Audee's change of configuration: any parameter of a layer drawn anew."""
    every = {name: spec.parameters for name, spec in universe().items()}
    return change_parameters(graph, context, every)


for name, kind in {
    "GF": "gaussian_fuzz",
    "WS": "weight_shuffle",
    "NEB": "neuron_block",
    "NAI": "neuron_inversion",
    "NS": "neuron_switch",
}.items():
    operator(name, "older")(weight_mutation(kind))
