"""Operators of LEMON, DeepMutation and Audee: the MEMO_o baseline.

They are unguided, as they were: weights are shuffled, fuzzed, blocked, inverted and switched,
activations removed and replaced, layers added, copied, removed and switched where shapes stay
as they are, and (Audee) a parameter is drawn anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from asterism.memo.generating.operator import (
    OPERATORS,
    Context,
    MutateWeights,
    Operator,
    change_parameters,
    choose_edge,
    insert,
    own_layers,
)
from asterism.memo.graphs.graph import Graph
from asterism.memo.universe.spec import universe
from asterism.memo.universe.tensors import require

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


class RemoveActivation(Operator):
    """ARem: a layer's activation becomes linear."""

    family = "older"

    def mutate(self, graph: Graph, context: Context) -> Graph:
        """Choose a layer that has one."""
        layers = [
            i
            for i in own_layers(graph)
            if graph.nodes[i].config.get("activation", "linear") != "linear"
        ]
        identity = context.pick(layers)
        return graph.change(
            identity, config={**graph.nodes[identity].config, "activation": "linear"}
        )


class ReplaceActivation(Operator):
    """ARep: a layer gets another activation."""

    family = "older"

    def mutate(self, graph: Graph, context: Context) -> Graph:
        """Choose a layer that has one."""
        eligible = {
            name: tuple(p for p in spec.parameters if p.name == "activation")
            for name, spec in universe().items()
        }
        return change_parameters(graph, context, eligible)


class AddLayer(Operator):
    """LA: add a layer that keeps shapes."""

    family = "older"

    def mutate(self, graph: Graph, context: Context) -> Graph:
        """Insert one on a random edge."""
        after, reader = choose_edge(graph, context)
        return insert(graph, after, context.pick(_KEEPS_SHAPE), context, reader)


class AddLayers(Operator):
    """MLA: add several layers that keep shapes."""

    family = "older"

    def mutate(self, graph: Graph, context: Context) -> Graph:
        """Insert two to four."""
        for _ in range(int(context.rng.integers(2, 5))):
            graph = OPERATORS["LA"].mutate(graph, context)
        return graph


def _shape_keepers(graph: Graph) -> list[int]:
    return [
        i
        for i in own_layers(graph)
        if len(graph.nodes[i].inputs) == 1
        and graph.tensors[i] == graph.tensors[graph.nodes[i].inputs[0]]
    ]


class CopyLayer(Operator):
    """LC: repeat a layer that keeps its shape."""

    family = "older"

    def mutate(self, graph: Graph, context: Context) -> Graph:
        """The copy reads the original, with the same weights."""
        identity = context.pick(_shape_keepers(graph))
        readers = graph.consumers[identity]
        graph, copy = graph.add(replace(graph.nodes[identity], inputs=(identity,)))
        return graph.redirect(identity, copy, readers) if readers else graph


class RemoveLayer(Operator):
    """LR: take out a layer that keeps its shape."""

    family = "older"

    def mutate(self, graph: Graph, context: Context) -> Graph:
        """Its readers read what it read."""
        identity = context.pick([i for i in _shape_keepers(graph) if graph.consumers[i]])
        graph = graph.redirect(identity, graph.nodes[identity].inputs[0])
        return Graph({i: n for i, n in graph.nodes.items() if i != identity})


class SwitchLayers(Operator):
    """LS: two layers with the same shapes change places."""

    family = "older"

    def mutate(self, graph: Graph, context: Context) -> Graph:
        """Swap types, configurations and weights, and leave the edges."""
        one = context.pick(_shape_keepers(graph))
        same = [
            i for i in _shape_keepers(graph) if i != one and graph.tensors[i] == graph.tensors[one]
        ]
        require(bool(same), "no other layer has the same shapes")
        two = context.pick(same)
        first, second = graph.nodes[one], graph.nodes[two]
        return graph.with_nodes(
            {
                **graph.nodes,
                one: replace(second, inputs=first.inputs),
                two: replace(first, inputs=second.inputs),
            }
        )


class ChangeConfiguration(Operator):
    """Audee's change of configuration: any parameter drawn anew."""

    family = "older"

    def mutate(self, graph: Graph, context: Context) -> Graph:
        """Draw some of one layer."""
        return change_parameters(
            graph, context, {name: spec.parameters for name, spec in universe().items()}
        )


for short, kind in {
    "GF": "gaussian_fuzz",
    "WS": "weight_shuffle",
    "NEB": "neuron_block",
    "NAI": "neuron_inversion",
    "NS": "neuron_switch",
}.items():
    OPERATORS.register(short)(MutateWeights(kind, "older"))

_OTHERS: dict[str, Callable[[], Operator]] = {
    "ARem": RemoveActivation,
    "ARep": ReplaceActivation,
    "LA": AddLayer,
    "MLA": AddLayers,
    "LC": CopyLayer,
    "LR": RemoveLayer,
    "LS": SwitchLayers,
    "CC": ChangeConfiguration,
}
for short, make in _OTHERS.items():
    OPERATORS.register(short)(make())
