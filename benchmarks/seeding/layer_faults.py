"""Faults of single layers, each as a change of a Keras layer that is built already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from asterism.differential.adapters.questions import QUESTIONS, RESIZED
from asterism.memo.graphs.graph import Graph, Node, sequential
from asterism.memo.universe.tensors import Tensor
from seeding.layer_changes import change_layer


@dataclass(frozen=True)
class LayerFault:
    """A fault, and a model that has the layer.

    Args:
        kind: what is wrong, in the words of bug reports.
        layer: type of the layer.
        shape: of one input item.
        change: how the fault is seeded; see :mod:`seeding.layer_changes`.
        config: parameters of the layer.
        shown_by: inputs that show the fault.
        dtype: of the input.
    """

    kind: str
    layer: str
    shape: list[int]
    change: Any
    config: dict[str, Any] = field(default_factory=dict)
    shown_by: str = "normal"
    dtype: str = "float32"

    @property
    def name(self) -> str:
        """The fault in one word."""
        by = f"_by_{self.shown_by}" if self.shown_by in (*QUESTIONS, RESIZED) else ""
        return f"{self.kind.replace(' ', '_')}_of_{self.layer}{by}"

    def seed(self, layer: Any) -> None:
        """Give a built Keras layer the fault."""
        change_layer(layer, self.change)

    def graph(self) -> Graph:
        """The layer behind an ordinary one where its input is floating, and its output as it is."""
        first = [] if self.dtype == "int32" else [node("LeakyReLU", negative_slope=0.4)]
        given = Tensor(tuple(self.shape), self.dtype)
        return sequential(given, [*first, node(self.layer, **self.config)])


def node(kind: str, **config: Any) -> Callable[[Any], Node]:
    """A step for :func:`asterism.memo.graphs.graph.sequential`."""
    return lambda _: Node(kind, {**config, "dtype": "float32"}, seed=7)


_LISTED = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
#: Faults by name.
LAYER_FAULTS = {fault.name: fault for fault in (LayerFault(**entry) for entry in _LISTED)}
