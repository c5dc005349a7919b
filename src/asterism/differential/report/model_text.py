"""A Keras model as the lines that build it."""

from __future__ import annotations

from itertools import pairwise

from asterism.differential.adapters.code import source_of
from asterism.differential.adapters.questions import FORMS, QUESTIONS
from asterism.differential.engine.tasks import LayerDescription
from asterism.differential.report.numbers import FilledNumbers
from asterism.differential.report.texts import call_source, literal_source
from asterism.memo.graphs.graph import INPUT, Graph
from asterism.memo.graphs.keras_build import TWO_ARGUMENTS, constructor_arguments
from asterism.memo.universe.spec import universe
from asterism.memo.universe.tensors import Config

#: What Keras says of each layer, by its node.
Layers = dict[int, LayerDescription]


def model_lines(
    graph: Graph, layers: Layers, numbers: FilledNumbers, distribution: str
) -> list[str]:
    """Lines that set ``inputs``, ``model`` and, where a question is asked, ``layers``.

    Args:
        graph: the model.
        layers: what Keras says of each layer; empty where it rejects the model.
        numbers: inputs and weights.
        distribution: kind of the inputs, which may ask for another form of the model.
    """
    given = [f"inputs = [{', '.join(array.source for array in numbers.inputs)}]"]
    made = _chain if _is_chain(graph) else _graph
    lines = [*given, *made(graph, layers, numbers, listed=distribution in QUESTIONS)]
    if distribution in FORMS:
        form = FORMS[distribution]
        lines += ["", source_of(form), "", f"model = {form.__name__}(model)"]
    return lines


def layer_source(kind: str, config: Config) -> str:
    """The call that makes a layer."""
    layer = f"keras.layers.{universe()[kind].name}"  # one that is declared
    if any(isinstance(v, dict) for v in config.values()):
        return f"{layer}.from_config({literal_source(config)})"
    return call_source(layer, config)


def with_changes(graph: Graph, layers: Layers, changed: Config) -> Layers:
    """What Keras says of layers some of whose parameters have other values, be they invalid."""
    told = {i: _told(graph, layers, i) for i in graph.layers}
    return {
        i: LayerDescription({**one.arguments, **changed}, one.variables) for i, one in told.items()
    }


def _told(graph: Graph, layers: Layers, identity: int) -> LayerDescription:
    known = layers.get(identity)
    return known or LayerDescription(constructor_arguments(graph, graph.nodes[identity]), [])


def _input(graph: Graph, identity: int) -> str:
    config = graph.nodes[identity].config
    shape, dtype = literal_source(tuple(config["shape"])), literal_source(config["dtype"])
    return f"keras.Input({shape}, dtype={dtype})"


def _weights(layer: str, numbers: FilledNumbers, identity: int) -> list[str]:
    sources = [array.source for array in numbers.weights.get(identity, ())]
    return [f"{layer}.set_weights([{', '.join(sources)}])"] if sources else []


def _is_chain(graph: Graph) -> bool:
    """Whether each layer reads the one before it, and nothing else is read or given."""
    places = (*graph.inputs, *graph.layers)
    chained = all(graph.nodes[after].inputs == (before,) for before, after in pairwise(places))
    return chained and len(graph.inputs) == 1 and graph.outputs == places[-1:]


def _chain(graph: Graph, layers: Layers, numbers: FilledNumbers, *, listed: bool) -> list[str]:
    made = [
        layer_source(graph.nodes[i].type, _told(graph, layers, i).arguments) for i in graph.layers
    ]
    weights = [
        line
        for at, identity in enumerate(graph.layers)
        for line in _weights(f"layers[{at}]", numbers, identity)
    ]
    return [
        f"layers = [{', '.join(made)}]",
        f"model = keras.Sequential([{_input(graph, graph.inputs[0])}, *layers])",
        *weights,
    ]


def _graph(graph: Graph, layers: Layers, numbers: FilledNumbers, *, listed: bool) -> list[str]:
    lines, weights = [], []
    for identity, node in graph.nodes.items():
        if node.type == INPUT:
            lines.append(f"n{identity} = {_input(graph, identity)}")
            continue
        layer = layer_source(node.type, _told(graph, layers, identity).arguments)
        if listed or identity in numbers.weights:
            lines.append(f"layer{identity} = {layer}")
            layer = f"layer{identity}"
        read = ", ".join(f"n{i}" for i in node.inputs)
        many = len(node.inputs) > 1 and node.type not in TWO_ARGUMENTS
        lines.append(f"n{identity} = {layer}({f'[{read}]' if many else read})")
        weights += _weights(f"layer{identity}", numbers, identity)
    ends = [", ".join(f"n{i}" for i in many) for many in (graph.inputs, graph.outputs)]
    sizes = (len(graph.inputs), len(graph.outputs))
    given, results = (e if n == 1 else f"[{e}]" for e, n in zip(ends, sizes, strict=True))
    named = ", ".join(f"layer{i}" for i in graph.layers)
    listing = [f"layers = [{named}]"] if listed else []
    return [*lines, *weights, f"model = keras.Model({given}, {results})", *listing]
