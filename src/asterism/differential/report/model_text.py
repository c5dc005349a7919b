"""Models as text, for scripts: lines that build a Keras model, and ONNX's own text of others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from asterism.differential.adapters.code import source_of
from asterism.differential.adapters.questions import FORMS, QUESTIONS
from asterism.differential.engine.tasks import LayerDescription
from asterism.differential.report.decisions import ExpectedOutputs
from asterism.differential.report.numbers import ArrayExpression, FilledNumbers
from asterism.differential.report.texts import call_source, literal_source
from asterism.memo.graphs.graph import INPUT, Graph
from asterism.memo.graphs.keras_build import TWO_ARGUMENTS, constructor_arguments
from asterism.memo.universe.layers import universe
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


def describe_changed_layers(graph: Graph, layers: Layers, changed: Config) -> Layers:
    """What Keras says of layers some of whose parameters have other, possibly invalid values."""
    told = {i: _described(graph, layers, i) for i in graph.layers}
    return {
        i: LayerDescription({**one.arguments, **changed}, one.variables) for i, one in told.items()
    }


def _described(graph: Graph, layers: Layers, identity: int) -> LayerDescription:
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
        layer_source(graph.nodes[i].type, _described(graph, layers, i).arguments)
        for i in graph.layers
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
        layer = layer_source(node.type, _described(graph, layers, identity).arguments)
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


#: Lines and characters of a text that a reader takes in.
_MOST_LINES, _MOST_CHARACTERS = 40, 6000

#: The number in a name that tf2onnx makes: it counts through all that its process has converted.
_COUNTED = re.compile(r"(?<=__)\d+\b")


def renumber_names(text: str) -> str:
    """The text with tf2onnx's numbers counted from 0, so that what ran before is not seen."""
    numbers: dict[str, str] = {}
    return _COUNTED.sub(lambda found: numbers.setdefault(found[0], str(len(numbers))), text)


def onnx_text(content: bytes) -> str | None:
    """The model in the syntax of ``onnx.parser``; None where it is long, or its text no literal.

    Names of nodes and of the producer, descriptions and shapes in between are left out: they
    compute nothing.

    Args:
        content: the content of an ``.onnx`` file that a converter wrote.
    """
    from onnx import ModelProto, parser, printer

    model = ModelProto()
    model.ParseFromString(content)
    del model.graph.value_info[:]
    del model.metadata_props[:]
    model.graph.doc_string = ""
    for name in ("doc_string", "producer_name", "producer_version"):
        model.ClearField(name)
    for node in model.graph.node:
        node.name = node.doc_string = ""
        del node.metadata_props[:]
    try:
        text: str = printer.to_text(model).strip()
    except UnicodeDecodeError:  # bytes in a string, which the printer does not escape
        return None
    if text.count("\n") >= _MOST_LINES or len(text) > _MOST_CHARACTERS:
        return None
    if "\\" in text or '"""' in text or text.endswith('"') or not text.isascii():
        return None
    try:
        parsed = parser.parse_model(text)
    except Exception:  # what the printer writes is not always what the parser reads
        return None
    return text if len(parsed.graph.node) == len(model.graph.node) else None


def onnx_reference(
    text: str, inputs: Sequence[ArrayExpression], right: ExpectedOutputs | None
) -> str:
    """Lines that compute what is right by ONNX's evaluator, where it is right; or nothing.

    Args:
        text: the model.
        inputs: the batch.
        right: what is right; None where something fails.
    """
    from onnx import parser
    from onnx.reference import ReferenceEvaluator

    if right is None:
        return ""
    try:
        evaluator = ReferenceEvaluator(parser.parse_model(text))
        given = dict(zip(evaluator.input_names, (a.values for a in inputs), strict=True))
        with np.errstate(all="ignore"):
            found = evaluator.run(None, given)
    except Exception:  # whatever an evaluator raises of an operator that it does not know
        return ""
    for actual, wanted, limit in zip(found, right.expected, right.allowed, strict=True):
        with np.errstate(all="ignore"):
            near = np.abs(actual.astype(np.float64) - wanted) <= limit
            same = near | (actual == wanted) | (np.isnan(actual) & np.isnan(wanted))
        if actual.shape != wanted.shape or not same[np.isfinite(limit)].all():
            return ""
    return """from onnx.reference import ReferenceEvaluator
reference = ReferenceEvaluator(path)
expected = reference.run(None, dict(zip(reference.input_names, inputs)))"""
