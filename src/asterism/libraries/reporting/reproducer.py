"""Writing ``check.py``: whether a finding still shows, decided as the oracle does.

It runs the short script beside it or, where none shows the finding, builds the minimal model
inline, with its weights and inputs as numbers. It prints what was expected and what came, and exits
1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.adapters.backends import library_of, option_of, plugin_of
from asterism.libraries.adapters.environments import versions_of
from asterism.libraries.adapters.forms import FORMS
from asterism.libraries.adapters.library import CONVERTERS, Converter, Library
from asterism.libraries.adapters.questions import BY_LAYER
from asterism.libraries.adapters.reloading import source_of
from asterism.libraries.judging.compare import bounds
from asterism.libraries.judging.finding import Finding
from asterism.libraries.judging.special_values import Probes
from asterism.libraries.reporting.numbers import literal_array
from asterism.libraries.reporting.python_text import call, in_docstring, literal
from asterism.libraries.reporting.script_checks import OTHERWISE, check_of, values_check, watch_of
from asterism.libraries.running.inputs import compared_nodes
from asterism.libraries.running.tolerance import Tolerance
from asterism.libraries.running.worker_environment import variables
from asterism.libraries.running.worker_pool import LayerDescription
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.graph import INPUT, Graph
from asterism.memo.graphs.keras_arguments import TWO_ARGUMENTS, arguments
from asterism.memo.graphs.weights import Stored, layer_weights
from asterism.memo.universe.spec import universe
from asterism.memo.universe.tensors import Config


def script_of(
    found: UniqueFinding,
    stored: Stored,
    layers: dict[int, LayerDescription],
    inputs: Sequence[NDArray[Any]],
    expected: Sequence[NDArray[Any]],
    tolerances: Sequence[NDArray[Any]],
    *,
    runs: str | None = None,
) -> str:
    """The text of ``check.py``.

    Args:
        found: the unique finding.
        stored: arrays that nodes may name.
        layers: what Keras says of each layer, by node; empty where it rejects the model.
        inputs: the batch that shows it.
        expected: outputs of the float64 reference; empty where something failed.
        tolerances: tolerated deviation of each of their elements.
        runs: name of the script beside it that sets ``outputs``; None where it does all itself.
    """
    backend = next((r for r in found.finding.backends if r not in CONVERTERS), None)
    library = plugin_of(library_of(backend))() if backend is not None else None
    option = option_of(backend) if backend is not None else ""
    source = library.source(option) if library is not None else found.finding.backends[0]
    converter = CONVERTERS[source]() if source is not None else None
    keras_backend = converter.keras_backend if converter is not None else None
    if keras_backend is None and library is not None:
        keras_backend = library.keras_backend
    if runs is not None:
        parts = [
            _HEAD.format(
                title=in_docstring(found.signature),
                environment=_assignments(environment_of(keras_backend or "tensorflow")),
                versions=in_docstring(version_lines(backend, converter)),
                more="import runpy\n",
                begin=OTHERWISE + watch_of(found.finding),
            ),
            _expectation(found, expected, tolerances),
        ]
        place = f"os.path.join(os.path.dirname(os.path.abspath(__file__)), {literal(runs)})"
        steps = [f'outputs = runpy.run_path({place})["outputs"]']
        check = values_check(steps) if expected else check_of(found.finding, steps)
        return "".join(parts) + check
    form = found.finding.form
    steps = [f"model = {form}(build())" if form else "model = build()"]
    if converter is not None:
        steps += [
            "folder = tempfile.TemporaryDirectory()",
            f'path = os.path.join(folder.name, "model{converter.suffix}")',
            "convert(model, path)",
        ]
    given = "model" if converter is None else "path"
    steps.append(f"outputs = run({given}, INPUTS)" if library is not None else "outputs = []")
    parts = [
        _HEAD.format(
            title=in_docstring(found.signature),
            environment=_assignments(environment_of(keras_backend or "tensorflow")),
            versions=in_docstring(version_lines(backend, converter)),
            more="import tempfile\n" if converter is not None else "",
            begin=OTHERWISE + watch_of(found.finding),
        ),
        _build(found.graph, stored, layers, named=found.finding.question in BY_LAYER),
        source_of(FORMS[form]) if form else "",
        converter.script() if converter is not None else "",
        _running(library, option, found.finding),
        f"\nINPUTS = {arrays_text(inputs)}\n",
        _expectation(found, expected, tolerances),
    ]
    check = values_check(steps) if expected else check_of(found.finding, steps)
    return "".join(parts) + check


def _expectation(
    found: UniqueFinding, expected: Sequence[NDArray[Any]], tolerances: Sequence[NDArray[Any]]
) -> str:
    """What the outputs must be, where values are compared."""
    if not expected:
        return ""
    compared = compared_nodes(found.graph, found.finding.distributions)
    return (
        f"\nEXPECTED = {arrays_text(expected)}  # a float64 run\n"
        f"TOLERANCES = {arrays_text(tolerances)}\n"
        f"DTYPES = {[found.graph.tensors[i].dtype for i in compared]}\n"
    )


def _running(library: Library | None, option: str, finding: Finding) -> str:
    if library is None:
        return ""
    if finding.overwritten:
        return library.overwritten_script(option)
    if finding.resized:
        return library.resized_script(option)
    question = finding.question
    return library.question_script(option, question) if question else library.script(option)


def environment_of(keras_backend: str) -> dict[str, str]:
    """What decides whose kernels run, and in which precision, before anything is imported.

    TensorFlow takes oneDNN's kernels or not, by the processor. JAX makes weights of 32 bits where
    it is told of float64 after the model was built.
    """
    names = (
        "KERAS_BACKEND",
        *(("TF_ENABLE_ONEDNN_OPTS",) if keras_backend == "tensorflow" else ()),
    )
    values = variables(keras_backend)
    more = {"JAX_ENABLE_X64": "1"} if keras_backend == "jax" else {}
    return {name: values[name] for name in names} | more


def _assignments(environment: dict[str, str]) -> str:
    return "\n".join(f'os.environ["{name}"] = "{value}"' for name, value in environment.items())


def version_lines(backend: str | None, converter: Converter | None) -> str:
    """Names and versions of the packages of a backend's library and of a converter."""
    found = {} if converter is None else converter.versions()
    if backend is not None:
        found |= versions_of(library_of(backend))
    return ", ".join(f"{name} {version}" for name, version in sorted(found.items()))


def _build(
    graph: Graph, stored: Stored, layers: dict[int, LayerDescription], *, named: bool
) -> str:
    """The function that makes the model; ``LAYERS`` gets its layers where they are ``named``."""
    lines = ["", "", "LAYERS = []", "", "", "def build():"] if named else ["", "", "def build():"]
    weights = []
    for identity, node in graph.nodes.items():
        if node.type == INPUT:
            shape, dtype = tuple(node.config["shape"]), node.config["dtype"]
            made = f"keras.Input({literal(shape)}, dtype={literal(dtype)}"
            lines.append(f"    n{identity} = {made}, name='n{identity}_input')")
            continue
        said = layers.get(identity) or LayerDescription(arguments(graph, node), [])
        lines.append(f"    layer{identity} = {layer_source(node.type, said.arguments)}")
        sources = ", ".join(f"n{i}" for i in node.inputs)
        many = len(node.inputs) > 1 and node.type not in TWO_ARGUMENTS
        lines.append(f"    n{identity} = layer{identity}({f'[{sources}]' if many else sources})")
        if said.variables:
            arrays = layer_weights(node, said.variables, stored)
            weights.append(f"    layer{identity}.set_weights({arrays_text(arrays)})")
    given = ", ".join(f"n{i}" for i in graph.inputs)
    results = ", ".join(f"n{i}" for i in graph.outputs)
    one_in, one_out = len(graph.inputs) == 1, len(graph.outputs) == 1
    lines += weights
    if named:
        lines.append(f"    LAYERS[:] = [{', '.join(f'layer{i}' for i in graph.layers)}]")
    lines.append(
        f"    return keras.Model({given if one_in else f'[{given}]'}, "
        f"{results if one_out else f'[{results}]'})"
    )
    return "\n".join(lines) + "\n\n"


def layer_source(kind: str, config: Config) -> str:
    """The call that makes a layer."""
    layer = f"keras.layers.{universe()[kind].name}"  # one that is declared
    if any(isinstance(v, dict) for v in config.values()):
        return f"{layer}.from_config({literal(config)})"
    return call(layer, config)


def arrays_text(arrays: Sequence[NDArray[Any]]) -> str:
    """A list of arrays in Python."""
    return "[" + ", ".join(literal_array(a).source for a in arrays) + "]"


def tolerated(
    reference: Sequence[NDArray[Any]],
    of: Tolerance,
    spreads: Sequence[float],
    probes: Probes | None = None,
) -> list[NDArray[np.float64]]:
    """The tolerated deviation of each element of each output; infinity where nothing decides."""
    pairs = enumerate(zip(reference, spreads, strict=True))
    return [bounds(at, r, s, of, probes) for at, (r, s) in pairs]


_HEAD = '''"""{title}

Seen with {versions}.
Exits 1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

import os
import sys
{more}
{begin}

{environment}

import keras
import numpy as np
'''
