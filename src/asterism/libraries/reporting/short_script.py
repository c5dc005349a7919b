"""Writing ``repro.py``: the bug first, in a script that a maintainer reads at a glance.

A finding of one or two layers takes about 25 lines. Numbers are written out only where simpler ones
do not show it. Expected and actual outputs are printed; ``check.py`` decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.adapters.backends import library_of, option_of, plugin_of
from asterism.libraries.adapters.forms import SPLIT
from asterism.libraries.adapters.library import CONVERTERS, GIVEN
from asterism.libraries.adapters.questions import QUESTIONS
from asterism.libraries.judging.finding import WRONG_BUFFERS
from asterism.libraries.judging.outside import expected_outside
from asterism.libraries.reporting.numbers import Array, Numbers
from asterism.libraries.reporting.programs import layer_source
from asterism.libraries.reporting.python_text import in_docstring, literal
from asterism.libraries.reporting.reproducer import environment_of, version_lines
from asterism.libraries.reporting.short_buffers import buffers_code
from asterism.libraries.reporting.short_code import reading_code, short_code
from asterism.libraries.reporting.short_forms import input_shape, running_lines, split_layer
from asterism.libraries.reporting.short_questions import question_code
from asterism.libraries.running.inputs import compared_nodes
from asterism.libraries.running.tasks import LayerDescription
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.graph import INPUT, Graph
from asterism.memo.graphs.keras_arguments import TWO_ARGUMENTS, arguments

#: Outputs of more numbers are printed where they differ most.
_SHOWN = 12


def short_script(
    found: UniqueFinding,
    layers: dict[int, LayerDescription],
    numbers: Numbers,
    expected: Sequence[NDArray[Any]],
    actual: Sequence[NDArray[Any]],
) -> str | None:
    """The text of ``repro.py``; None without short code.

    Args:
        found: the unique finding.
        layers: what Keras says of each layer, by node; empty where it rejects the model.
        numbers: inputs and weights.
        expected: outputs of a right float64 reference; empty where something failed.
        actual: outputs that the backend gave, where it gave some.
    """
    question = found.finding.question
    backend = next((r for r in found.finding.backends if r not in CONVERTERS), None)
    library = plugin_of(library_of(backend))() if backend is not None else None
    option = option_of(backend) if backend is not None else ""
    source = library.source(option) if library is not None else found.finding.backends[0]
    converter = CONVERTERS[source]() if source is not None else None
    if found.finding.symptom == WRONG_BUFFERS and backend is not None:
        code = buffers_code(backend, len(found.graph.inputs))
    elif question and backend is not None:
        code = question_code(backend, question, found.graph)
    else:
        code = short_code(library.name if library else "", option, source, len(found.graph.inputs))
    kind = next(iter(found.finding.distributions), "")
    running = None if code is None else running_lines(code, kind)
    if code is None or running is None:
        return None
    keras_backend = converter.keras_backend if converter is not None else None
    if keras_backend is None and library is not None:
        keras_backend = library.keras_backend
    versions = version_lines(backend, converter)
    settings = environment_of(keras_backend or "tensorflow")
    environment = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    lines = [
        f'"""{in_docstring(found.signature)}. Seen with {in_docstring(versions)}; see check.py."""',
        "import os",
        "",
        f"os.environ.update({environment})",
        "",
        "import keras",
        "import numpy as np",
        *code.imports,
        "",
        f"inputs = [{', '.join(array.source for array in numbers.inputs)}]",
        *_model(found.graph, layers, numbers, kind),
        *(
            []
            if expected or code.complete
            else [f"print({literal(f'expected: {_wanted(found)}')})"]
        ),
        *running,
        *([] if code.complete else _printed(expected, actual, _dtypes_of(found))),
    ]
    return "\n".join(lines) + "\n"


def _dtypes_of(found: UniqueFinding) -> list[str]:
    nodes = compared_nodes(found.graph, found.finding.distributions)
    return [found.graph.tensors[i].dtype for i in nodes]


def _wanted(found: UniqueFinding) -> str:
    return expected_outside(found.finding) if found.changed else "it runs"


def native_script(
    found: UniqueFinding,
    text: str,
    numbers: Numbers,
    expected: Sequence[NDArray[Any]],
    actual: Sequence[NDArray[Any]],
) -> str | None:
    """The text of ``repro.py`` without Keras, for what a runtime does with an ONNX model.

    Args:
        found: the unique finding, of a library that reads the file of a converter.
        text: the model, see :func:`asterism.libraries.reporting.onnx_text.onnx_text`.
        numbers: the inputs.
        expected: outputs of a right float64 reference; empty where something failed.
        actual: outputs that the backend gave, where it gave some.
    """
    backend = found.finding.backends[0]
    library = plugin_of(library_of(backend))()
    option = option_of(backend)
    source = library.source(option)
    if source is None:
        return None
    ending, suffix = option.removeprefix(source), CONVERTERS[source].suffix
    code = reading_code(library.name, ending, suffix)
    if code is None:
        return None
    kind = next(iter(found.finding.distributions), "")
    running = running_lines(code, kind)
    if running is None:
        return None
    return _of_text(
        found.signature, backend, code.imports, running, text, numbers.inputs, expected, actual
    )


def operator_script(
    signature: str,
    backend: str,
    text: str,
    inputs: Sequence[Array],
    expected: Sequence[NDArray[Any]],
    actual: Sequence[NDArray[Any]],
) -> str | None:
    """The text of ``repro.py`` for an ONNX model that is given as a file.

    Args:
        signature: the finding's.
        backend: that is to blame, one of those that read given files.
        text: the model, see :func:`asterism.libraries.reporting.onnx_text.onnx_text`.
        inputs: that show it.
        expected: right outputs; empty where something failed.
        actual: outputs that the backend gave, where it gave some.
    """
    library = plugin_of(library_of(backend))()
    code = reading_code(library.name, option_of(backend).removeprefix(GIVEN), ".onnx")
    if code is None:
        return None
    running = [*code.made, *code.called]
    return _of_text(signature, backend, code.imports, running, text, inputs, expected, actual)


def _of_text(
    signature: str,
    backend: str,
    imports: Sequence[str],
    running: Sequence[str],
    text: str,
    inputs: Sequence[Array],
    expected: Sequence[NDArray[Any]],
    actual: Sequence[NDArray[Any]],
) -> str:
    versions = version_lines(backend, None)
    lines = [
        f'"""{in_docstring(signature)}. Seen with {in_docstring(versions)}; see check.py."""',
        *dict.fromkeys(("import numpy as np", "import onnx", "import onnx.parser", *imports)),
        "",
        f'MODEL = """{text}"""',
        f"inputs = [{', '.join(array.source for array in inputs)}]",
        *([] if expected else ['print("expected: it runs")']),
        'onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")',
        *running,
        *_printed(expected, actual),
    ]
    return "\n".join(lines) + "\n"


def _model(
    graph: Graph, layers: dict[int, LayerDescription], numbers: Numbers, kind: str
) -> list[str]:
    """Lines that build the model and set its weights, in the form that its inputs ask for."""
    if kind != SPLIT and _is_chain(graph):
        return _chain(graph, layers, numbers, kind)
    lines, weights = [], []
    for identity, node in graph.nodes.items():
        if node.type == INPUT:
            shape, dtype = input_shape(node.config["shape"], kind), node.config["dtype"]
            lines.append(f"n{identity} = keras.Input({shape}, dtype={literal(dtype)})")
            continue
        said = layers.get(identity) or LayerDescription(arguments(graph, node), [])
        sources = [array.source for array in numbers.weights.get(identity, ())]
        halves = split_layer(graph, identity, said.arguments, sources) if kind == SPLIT else None
        if halves is not None:
            lines += halves
            continue
        layer = layer_source(node.type, said.arguments)
        if identity in numbers.weights or kind in QUESTIONS:
            lines.append(f"layer{identity} = {layer}")
            layer = f"layer{identity}"
        read = ", ".join(f"n{i}" for i in node.inputs)
        many = len(node.inputs) > 1 and node.type not in TWO_ARGUMENTS
        lines.append(f"n{identity} = {layer}({f'[{read}]' if many else read})")
        if sources:
            weights.append(f"layer{identity}.set_weights([{', '.join(sources)}])")
    ends = (", ".join(f"n{i}" for i in many) for many in (graph.inputs, graph.outputs))
    sizes = (len(graph.inputs), len(graph.outputs))
    given, results = (e if n == 1 else f"[{e}]" for e, n in zip(ends, sizes, strict=True))
    named = ", ".join(f"layer{i}" for i in graph.layers)
    listed = [f"layers = [{named}]"] if kind in QUESTIONS else []
    return [*lines, *weights, f"model = keras.Model({given}, {results})", *listed]


def _is_chain(graph: Graph) -> bool:
    """Whether each layer reads the one before it, and nothing else is read or given."""
    places = (*graph.inputs, *graph.layers)
    chained = all(graph.nodes[after].inputs == (before,) for before, after in pairwise(places))
    return chained and len(graph.inputs) == 1 and graph.outputs == places[-1:]


def _chain(
    graph: Graph, layers: dict[int, LayerDescription], numbers: Numbers, kind: str
) -> list[str]:
    """Lines that build a chain of layers, and set their weights."""
    made, weights = [], []
    for at, identity in enumerate(graph.layers):
        node = graph.nodes[identity]
        said = layers.get(identity) or LayerDescription(arguments(graph, node), [])
        made.append(layer_source(node.type, said.arguments))
        if sources := [array.source for array in numbers.weights.get(identity, ())]:
            weights.append(f"layers[{at}].set_weights([{', '.join(sources)}])")
    config = graph.nodes[graph.inputs[0]].config
    given = f"{input_shape(config['shape'], kind)}, dtype={literal(config['dtype'])}"
    return [
        f"layers = [{', '.join(made)}]",
        f"model = keras.Sequential([keras.Input({given}), *layers])",
        *weights,
    ]


def _printed(
    expected: Sequence[NDArray[Any]], actual: Sequence[NDArray[Any]], dtypes: Sequence[str] = ()
) -> list[str]:
    """Lines that print what is expected and what came.

    Args:
        expected: right outputs; empty where something failed.
        actual: outputs that the backend gave.
        dtypes: that the outputs must have; none where any are right.
    """
    if not expected:
        return ['print("actual: it runs")']
    for at, (right, wrong) in enumerate(zip(expected, actual, strict=False)):
        if right.shape != wrong.shape:
            return [
                f"print({literal(f'expected the shape {right.shape} of output {at}')})",
                f'print("actual  ", np.shape(outputs[{at}]))',
            ]
    for at, (dtype, wrong) in enumerate(zip(dtypes, actual, strict=False)):
        if str(wrong.dtype) != dtype:
            return [
                f"print({literal(f'expected the dtype {dtype} of output {at}')})",
                f'print("actual  ", np.asarray(outputs[{at}]).dtype)',
            ]
    at, place = _worst(expected, actual)
    if sum(array.size for array in expected) <= _SHOWN:
        text = "; ".join(np.array2string(array, separator=", ") for array in expected)
        return [
            f"print({literal('expected ' + ' '.join(text.split()))})",
            'print("actual  ", *(np.asarray(o).tolist() for o in outputs))',
        ]
    index = ", ".join(map(str, place))
    value = float(expected[at][place])
    return [
        f"print({literal(f'expected {value} at [{index}] of output {at}')})",
        f'print("actual  ", np.asarray(outputs[{at}])[{index}])'
        if place
        else f'print("actual  ", outputs[{at}])',
    ]


def _worst(
    expected: Sequence[NDArray[Any]], actual: Sequence[NDArray[Any]]
) -> tuple[int, tuple[int, ...]]:
    """The output and the element that differ most, masks of NaN first."""
    best: tuple[float, int, tuple[int, ...]] = (-1.0, 0, (0,) * expected[0].ndim)
    for at, (right, wrong) in enumerate(zip(expected, actual, strict=False)):
        if right.shape != wrong.shape or not right.size:
            continue
        with np.errstate(all="ignore"):
            off = np.abs(right - wrong.astype(np.float64))
            off = np.where(np.isnan(off) & (np.isnan(right) != np.isnan(wrong)), np.inf, off)
        off = np.nan_to_num(off, nan=0.0, posinf=np.finfo(np.float64).max)
        place = tuple(int(i) for i in np.unravel_index(int(np.argmax(off)), off.shape))
        best = max(best, (float(off[place]), at, place))
    return best[1], best[2]
