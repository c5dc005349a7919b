"""Coverage of the layer universe: what generated models have exercised of it.

Four sets, each a set union over models, hence monotone and independent of their order:

- layer types: seen of those declared;
- layer pairs: ordered pairs ``(a, b)`` where ``b`` reads ``a``, of those whose ranks and dtypes
  can meet. An edge through an inserted shape repair counts, marked as repaired;
- layer parameters: ``(layer, parameter, option)`` of those declared; ranges have five bins and
  a value outside the declaration counts nowhere;
- layer inputs: ``(layer, rank, dtype)`` of those declared.

The paper counts 61 layer types and 61·60 = 3,660 ordered pairs of distinct ones;
:data:`PAPER_TYPES` and :data:`PAPER_PAIRS` stand beside our own denominators in reports, and so do
the coverages of what belongs to its families of layers (:func:`restrict_to_paper`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from asterism.memo.graphs.graph import INPUT, Graph
from asterism.memo.universe.layers import LayerSpec, universe
from asterism.memo.universe.tensors import INTEGER

PAPER_TYPES = 61
PAPER_PAIRS = PAPER_TYPES * (PAPER_TYPES - 1)

Pair = tuple[str, str]
ParameterOption = tuple[str, str, str]
LayerInput = tuple[str, int, str]


@dataclass
class Coverage:
    """What one model covers, or several together; every set is a subset of the declared one.

    ``direct_pairs`` are those of ``pairs`` that meet without a shape repair.
    """

    types: set[str] = field(default_factory=set)
    pairs: set[Pair] = field(default_factory=set)
    direct_pairs: set[Pair] = field(default_factory=set)
    parameters: set[ParameterOption] = field(default_factory=set)
    inputs: set[LayerInput] = field(default_factory=set)

    @property
    def repaired(self) -> set[Pair]:
        """Pairs of layers that only meet through a shape adapter."""
        return self.pairs - self.direct_pairs

    @property
    def counted(self) -> dict[str, set[Any]]:
        """The elements by kind; a pair through a repair is the same pair."""
        kinds = ("types", "pairs", "parameters", "inputs")
        return dict(zip(kinds, (self.types, self.pairs, self.parameters, self.inputs), strict=True))

    @property
    def all(self) -> frozenset[tuple[str, Any]]:
        """Everything in one set."""
        return frozenset((kind, one) for kind, found in self.counted.items() for one in found)

    def gain(self, other: Coverage) -> int:
        """How many elements of another coverage would be new."""
        mine = self.counted
        return sum(len(found - mine[kind]) for kind, found in other.counted.items())

    def update(self, other: Coverage) -> None:
        """Add the elements of another coverage."""
        self.types |= other.types
        self.pairs |= other.pairs
        self.direct_pairs |= other.direct_pairs
        self.parameters |= other.parameters
        self.inputs |= other.inputs

    def rates(self) -> dict[str, float]:
        """Shares of the declared universe, and by the paper's way of counting."""
        whole, paper = declared_coverage(), restrict_to_paper()
        return {
            "types": len(self.types) / len(whole.types),
            "pairs": len(self.pairs) / len(whole.pairs),
            "pairs_only_repaired": len(self.repaired) / len(whole.pairs),
            "parameters": len(self.parameters) / len(whole.parameters),
            "inputs": len(self.inputs) / len(whole.inputs),
            "paper_types": len(self.types & paper.types) / len(paper.types),
            "paper_pairs": len(self.pairs & paper.pairs) / PAPER_PAIRS,
            "paper_parameters": len(self.parameters & paper.parameters) / len(paper.parameters),
        }


@cache
def declared_coverage() -> Coverage:
    """The whole universe: the denominators."""
    layers = universe()
    return Coverage(
        types=set(layers),
        pairs={(a, b) for a in layers for b in layers if can_connect(layers[a], layers[b])},
        parameters={
            (name, parameter.name, option)
            for name, spec in layers.items()
            for parameter in spec.all_parameters
            for option in parameter.options
        },
        inputs={
            (name, rank, dtype)
            for name, spec in layers.items()
            for rank in spec.ranks
            for dtype in spec.dtypes
        },
    )


def can_connect(first: LayerSpec, second: LayerSpec) -> bool:
    """Whether an output of ``first`` can have a rank and dtype that ``second`` accepts."""
    ranks = {out for rank in first.ranks for out in first.out_ranks(rank)}
    return bool(ranks & second.ranks) and second.dtypes != (INTEGER,)


def coverage_of(graphs: Iterable[Graph]) -> Coverage:
    """What models cover together."""
    coverage = Coverage()
    for graph in graphs:
        coverage.update(covered_elements(graph))
    return coverage


def covered_elements(graph: Graph) -> Coverage:
    """What one model covers."""
    whole, layers, found = declared_coverage(), universe(), Coverage()
    for node in graph.nodes.values():
        if node.type == INPUT or node.repair or node.type not in layers:
            continue
        found.types.add(node.type)
        found.parameters |= _options_of(node.type, json.dumps(node.config))
        for source in node.inputs:
            tensor = graph.tensors[source]
            found.inputs.add((node.type, tensor.rank, tensor.dtype))
            for origin, through_repair in find_origins(graph, source):
                pair = (graph.nodes[origin].type, node.type)
                found.pairs.add(pair)
                if not through_repair:
                    found.direct_pairs.add(pair)
    found.pairs &= whole.pairs
    found.direct_pairs &= whole.pairs
    found.inputs &= whole.inputs
    return found


@lru_cache(maxsize=1 << 14)
def _options_of(kind: str, config: str) -> frozenset[ParameterOption]:
    """Options that a layer's configuration covers; most layers of a mutant are its parent's."""
    values = json.loads(config)
    return frozenset(
        (kind, parameter.name, label)
        for parameter in universe()[kind].all_parameters
        if parameter.name in values
        for label in parameter.labels(values[parameter.name])
    )


def find_origins(graph: Graph, source: int) -> Iterator[tuple[int, bool]]:
    """The layers whose output arrives through ``source``, and whether a repair lies between."""
    node, through = graph.nodes[source], False
    while node.repair:
        source, through = node.inputs[0], True
        node = graph.nodes[source]
    if node.type != INPUT:
        yield source, through


@cache
def restrict_to_paper() -> Coverage:
    """The part of the universe in the families of layers that the paper covers.

    Its pairs are of distinct layers. The paper's own count of types, :data:`PAPER_TYPES`, is that
    of an older Keras, which had fewer layers in these families.
    """
    whole = declared_coverage()
    ours = {name for name, spec in universe().items() if spec.in_paper}
    return Coverage(
        types=whole.types & ours,
        pairs={(a, b) for a, b in whole.pairs if a != b and {a, b} <= ours},
        parameters={p for p in whole.parameters if p[0] in ours},
        inputs={i for i in whole.inputs if i[0] in ours},
    )
