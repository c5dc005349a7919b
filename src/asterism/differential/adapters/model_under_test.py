"""A model as a worker sees it: the graph, its weights, and the files that converters made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from asterism.differential.adapters.questions import FORMS
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.keras_build import (
    build_model,
    constructor_arguments,
    layer_name,
    needed_arguments,
)
from asterism.memo.graphs.store import read_graph, read_weights
from asterism.memo.graphs.weights import Variable, variables_of
from asterism.memo.universe.tensors import Config


@dataclass
class ModelUnderTest:
    """One model under test, in one worker.

    Args:
        folder: holds ``graph.json`` and what converters wrote.
        weights: arrays of models that were read, for the nodes that name them; None for none.
        outputs: nodes to put out, in place of the graph's own outputs.
        opset: version of the format that converters write; None for their own.
        batch: items in the batches that it is run with; None where it is not run.
        form: what a backend runs in place of the plain model, of
            :data:`~asterism.differential.adapters.questions.FORMS`; nothing for the model itself.
        changed: parameters of all layers whose values differ from the graph's; they may be invalid.
    """

    folder: Path
    weights: Path | None = None
    outputs: Sequence[int] | None = None
    opset: int | None = None
    batch: int | None = None
    form: str = ""
    changed: Config | None = None
    _built: dict[tuple[str | None, bool], Any] = field(default_factory=dict, init=False)

    def keras(self, *, dtype: str | None = None, zero_initializers: bool = False) -> Any:
        """The model, built once for each dtype on the backend of this process.

        In a dtype of its own it is a reference, which always has the plain form.
        """
        import keras

        key = (dtype, zero_initializers)
        if key not in self._built:
            # Keras numbers what has no name, over all models of a process. Here the numbers start
            # anew, so that what converters write does not depend on the models before this one.
            keras.utils.clear_session(free_memory=False)
            model = build_model(
                self.graph,
                self.stored(),
                dtype=dtype,
                zero_initializers=zero_initializers,
                outputs=self.outputs,
                changed=self.changed,
            )
            plain = dtype is not None or not self.form
            self._built[key] = model if plain else FORMS[self.form](model)
        return self._built[key]

    @cached_property
    def graph(self) -> Graph:
        """The graph to build; its file is read once."""
        return read_graph(self.folder / "graph.json")

    def described(self) -> dict[int, tuple[Config, list[Variable]]]:
        """By node, what a layer's constructor has to be told, and its weights' names and shapes."""
        graph, model = self.graph, self.keras(zero_initializers=True)
        layers = ((i, graph.nodes[i]) for i in graph.layers)
        return {
            i: (
                needed_arguments(node.type, constructor_arguments(graph, node)),
                variables_of(model.get_layer(layer_name(i, node))),
            )
            for i, node in layers
        }

    def stored(self) -> Any:
        """Arrays of the layers that were read, by the name that nodes give."""
        return {} if self.weights is None else _read_once(self.weights)

    def file(self, converter: str, suffix: str) -> Path:
        """The path of a converter's file."""
        return self.folder / f"{converter}{suffix}"


@cache
def _read_once(weights: Path) -> Any:
    return read_weights(weights)
