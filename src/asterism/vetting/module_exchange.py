"""The way in which parts of two modules are exchanged: by modules, or within a quantised graph."""

from __future__ import annotations

from torch import fx, nn

from asterism.vetting.module_pairs import Exchange, ModuleExchange
from asterism.vetting.quantised_graphs import GraphExchange


def exchange_of(original: nn.Module, compressed: nn.Module) -> Exchange:
    """The way that fits: PT2E writes quantisation into a graph, all others into modules.

    Args:
        original: in floating point.
        compressed: its quantised version.
    """
    if isinstance(compressed, fx.GraphModule):
        return GraphExchange(original, compressed)
    return ModuleExchange(original, compressed)
