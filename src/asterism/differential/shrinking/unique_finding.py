"""One defect, as triage makes it of all findings that show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asterism.core.files.records import record_from
from asterism.differential.oracle.finding import Finding
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.store import graph_from_json
from asterism.memo.universe.layers import universe
from asterism.memo.universe.tensors import Config


@dataclass(frozen=True)
class LayerAtFault:
    """A layer with those of its parameters that are words or switches off their defaults.

    Numbers are left out: a defect seldom depends on one, and they would make one defect many.
    """

    type: str
    parameters: frozenset[tuple[str, str]]

    def __str__(self) -> str:
        named = ", ".join(f"{name}={value}" for name, value in sorted(self.parameters))
        return f"{self.type}({named})"

    def explains(self, other: LayerAtFault) -> bool:
        """Whether the other layer's finding follows: it has at least this one's parameters."""
        return self.type == other.type and self.parameters <= other.parameters


def layer_at_fault(graph: Graph, identity: int) -> LayerAtFault:
    """A node of a graph as part of a signature."""
    node = graph.nodes[identity]
    defaults = universe()[node.type].defaults() if node.type in universe() else {}
    return LayerAtFault(
        node.type,
        frozenset(
            (name, str(node.config[name]))
            for name, default in defaults.items()
            if name in node.config
            and node.config[name] != default
            and isinstance(node.config[name], str | bool)
        ),
    )


@dataclass
class UniqueFinding:
    """One defect, with its smallest model.

    Args:
        signature: stable name.
        finding: as it shows on the minimal model.
        graph: the minimal model.
        layer: the first diverging layer, for values.
        models: the generated models that showed it.
        original_layers: size of the model that was shrunk.
        ablation: what was varied on the minimal model, backends too, and whether it still shows.
        unfinished: why the minimal model may not be the smallest; empty where it is.
        changed: parameters of the layer whose values differ from the graph's; they may be invalid.
        out_of_time: whether it is unfinished for want of time, which the next run may have.
        folder: the folder of its script and report, below the folder of all findings.
        confirmed: how the fresh processes of its script ended.
        known: a link to an issue or a page; empty where there is none.
        limit: what the library is documented not to do; empty where it is no known limit.
    """

    signature: str
    finding: Finding
    graph: Graph
    layer: LayerAtFault | None
    models: set[int]
    original_layers: int
    ablation: dict[str, str] = field(default_factory=dict)
    unfinished: str = ""
    changed: Config = field(default_factory=dict)
    out_of_time: bool = False
    folder: str = ""
    confirmed: tuple[int, ...] = ()
    known: str = ""
    limit: str = ""

    @property
    def reproduced(self) -> bool:
        """Whether every fresh process showed it."""
        return all(status == 1 for status in self.confirmed)

    @property
    def minimality(self) -> str:
        """Whether the model is the smallest that shows it, and by how much it is smaller."""
        was, now = self.original_layers, len(self.graph.layers)
        layers = f"{was} layer{'' if was == 1 else 's'}"
        reduced = f"reduced from {layers} to {now}" if now < was else f"of {layers} as before"
        if self.unfinished:
            return f"not minimal, {reduced}: {self.unfinished}"
        return f"minimal, {reduced}"

    def to_json(self) -> dict[str, Any]:
        """A JSON value that :meth:`from_json` reads, with more that people read."""
        return {
            "folder": self.folder,
            "confirmed": list(self.confirmed),
            "known": self.known,
            "limit": self.limit,
            "layers": len(self.graph.layers),
            "minimality": self.minimality,
            "changed": self.changed,
            "signature": self.signature,
            "finding": {**self.finding.to_json(), "excess": min(self.finding.excess, 1e30)},
            "graph": self.graph.to_json(),
            "layer": str(self.layer or ""),
            "models": sorted(self.models),
            "original_layers": self.original_layers,
            "ablation": self.ablation,
            "unfinished": self.unfinished,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> UniqueFinding:
        """A finding as :meth:`to_json` or a list of unique findings has it.

        Raises:
            UserError: it holds something that does not exist.
        """
        graph = graph_from_json(value["graph"])
        layers = (layer_at_fault(graph, i) for i in graph.layers)
        named = next((layer for layer in layers if str(layer) == value["layer"]), None)
        return UniqueFinding(
            signature=value["signature"],
            finding=record_from(Finding, value["finding"]),
            graph=graph,
            layer=named,
            models=set(value["models"]),
            original_layers=value["original_layers"],
            ablation=value["ablation"],
            unfinished=value.get("unfinished", ""),
        )
