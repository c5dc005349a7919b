"""The text of a program: a model with its numbers, and how a backend runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.adapters.backends import library_of, option_of, plugin_of
from asterism.libraries.adapters.fixed_draws import DRAWN, fixed
from asterism.libraries.adapters.forms import FORMS, LENGTHENED, LONGER
from asterism.libraries.adapters.library import CONVERTERS, Converter, Library
from asterism.libraries.adapters.questions import (
    BY_LAYER,
    FIRST,
    OVERWRITTEN,
    QUESTIONS,
    RESIZED,
)
from asterism.libraries.adapters.reloading import source_of
from asterism.libraries.reporting.numbers import literal_array
from asterism.libraries.reporting.python_text import call, literal
from asterism.libraries.running.inputs import random_training
from asterism.libraries.running.tasks import LayerDescription
from asterism.memo.graphs.graph import INPUT, Graph
from asterism.memo.graphs.keras_arguments import TWO_ARGUMENTS, arguments
from asterism.memo.graphs.weights import Stored, layer_weights
from asterism.memo.universe.spec import universe
from asterism.memo.universe.tensors import Config


@dataclass(frozen=True)
class Runner:
    """Who runs a model: a library, on the file of a converter or not; or a converter alone.

    Args:
        backend: ``library:option``; None for a converter alone.
        library: of the backend.
        converter: whose file it reads; None where it runs the Keras model.
    """

    backend: str | None
    library: Library | None
    converter: Converter | None

    @classmethod
    def of(cls, backends: Sequence[str]) -> Runner:
        """The first backend; or the converter, where nothing else is named."""
        backend = next((r for r in backends if r not in CONVERTERS), None)
        if backend is None:
            return cls(None, None, CONVERTERS[backends[0]]())
        library = plugin_of(library_of(backend))()
        source = library.source(option_of(backend))
        return cls(backend, library, CONVERTERS[source]() if source is not None else None)

    @property
    def option(self) -> str:
        """Of the backend; empty where there is none."""
        return option_of(self.backend) if self.backend is not None else ""

    @property
    def keras_backend(self) -> str:
        """What Keras runs on where the model is built: the converter's, or the library's own."""
        of_converter = self.converter.keras_backend if self.converter is not None else None
        of_library = self.library.keras_backend if self.library is not None else None
        return of_converter or of_library or "tensorflow"


@dataclass(frozen=True)
class Program:
    """A model and how it is run.

    Args:
        text: definitions of ``build``, ``convert`` and ``run``, and the ``INPUTS``.
        steps: lines that set ``outputs`` by them.
    """

    text: str
    steps: tuple[str, ...]


#: By kind of inputs, what the compiled model sees first in place of an input ``i``.
FIRST_INPUTS = {
    RESIZED: f"i[:{FIRST}]",
    LENGTHENED: f"np.concatenate([i, i.take(np.arange({LONGER}) % i.shape[1], 1)], 1)",
}


def program_of(
    runner: Runner,
    graph: Graph,
    distribution: str,
    stored: Stored,
    layers: dict[int, LayerDescription],
    inputs: Sequence[NDArray[Any]],
) -> Program:
    """The program that does what a worker does with a model.

    Args:
        runner: who runs it.
        graph: the model.
        distribution: the kind of its inputs, which says what is done.
        stored: arrays that nodes may name.
        layers: what Keras says of each layer, by node; empty where it rejects the model.
        inputs: the batch.
    """
    form, library, converter = FORMS.get(distribution), runner.library, runner.converter
    steps = [f"model = {distribution}(build())" if form else "model = build()"]
    if converter is not None:
        steps += [
            "folder = tempfile.TemporaryDirectory()",
            f'path = os.path.join(folder.name, "model{converter.suffix}")',
            "convert(model, path)",
        ]
    draws = DRAWN[runner.keras_backend] if random_training(graph, (distribution,)) else None
    if draws is not None:
        loop = f"for owner, name, value in fixed({draws.__name__}, []):"
        steps += [loop, "    setattr(owner, name, value)"]
    given = "model" if converter is None else "path"
    steps.append(f"outputs = run({given}, INPUTS)" if library is not None else "outputs = []")
    parts = [
        _build(graph, stored, layers, named=distribution in BY_LAYER),
        source_of(form) if form else "",
        converter.script() if converter is not None else "",
        f"{source_of(draws)}\n{source_of(fixed)}" if draws is not None else "",
        _running(library, runner.option, distribution) if library is not None else "",
        f"\nINPUTS = {arrays_text(inputs)}\n",
    ]
    return Program("".join(parts), tuple(steps))


def _running(library: Library, option: str, distribution: str) -> str:
    if distribution == OVERWRITTEN:
        return library.overwritten_script(option)
    if distribution in FIRST_INPUTS:
        return library.script_after(option, FIRST_INPUTS[distribution])
    if distribution in QUESTIONS:
        return library.question_script(option, distribution)
    return library.script(option)


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


def as_float64(inputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Inputs as a reference gets them."""
    return [i.astype(np.float64) if np.issubdtype(i.dtype, np.floating) else i for i in inputs]


def with_changes(
    graph: Graph, layers: dict[int, LayerDescription], changed: Config
) -> dict[int, LayerDescription]:
    """What Keras says of layers some of whose parameters have other values, be they invalid."""
    told = {i: layers.get(i) for i in graph.layers}
    said = {
        i: one or LayerDescription(arguments(graph, graph.nodes[i]), []) for i, one in told.items()
    }
    return {
        i: LayerDescription({**one.arguments, **changed}, one.variables) for i, one in said.items()
    }
