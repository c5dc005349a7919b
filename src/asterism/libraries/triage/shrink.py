"""Delta debugging of a finding: fewer layers, then default parameters, then smaller shapes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from asterism.libraries.triage.ceiling import NO_CEILING, Ceiling
from asterism.memo.graphs.graph import INPUT, Graph, Node, input_node
from asterism.memo.reducing.reduce import bypass, renumbered, without_branch
from asterism.memo.universe.spec import universe
from asterism.memo.universe.tensors import INTEGER, InvalidLayerError

#: Whether a model still shows the finding.
Shows = Callable[[Graph], bool]


class Shrinker:
    """Shrinks one model while ``shows`` holds.

    Args:
        shows: asked for every candidate; the model that comes in is known to show it.
        steps: how many candidates may be tried.
        ceiling: of time, after which none is tried.

    Attributes:
        out_of_time: whether it was time, rather than steps, for want of which it stopped.
    """

    def __init__(self, shows: Shows, steps: int, ceiling: Ceiling = NO_CEILING) -> None:
        self.out_of_time = False
        self._shows = shows
        self._left, self._ceiling = steps, ceiling
        self._gone: set[str] = set()
        self._untried: set[str] = set()

    @property
    def untried(self) -> int:
        """How many candidates were left to try of the model that it stopped at; 0 of a minimal one.

        One of them that shows the finding would bring others.
        """
        return len(self._untried)

    def shrink(self, graph: Graph, suspect: int | None = None) -> Graph:
        """The smallest model found.

        Args:
            graph: shows the finding.
            suspect: the layer that is tried alone first, where one is known.
        """
        graph = self._layers(graph, suspect)
        graph = self._defaults(graph)
        graph = self._repeat(graph, self._shapes)
        return renumbered(graph)

    def _still(self, graph: Graph) -> bool:
        """Whether it is still there; nothing is asked twice, nor when no steps are left.

        Once it has stopped, the rest is gone through all the same, and counted.
        """
        key = json.dumps(graph.to_json(), sort_keys=True)
        if key in self._gone:
            return False
        if self._untried or self._left <= 0 or self._ceiling.is_reached():
            self.out_of_time |= not self._untried and self._left > 0
            self._untried.add(key)
            return False
        self._left -= 1
        if self._shows(graph):
            return True
        self._gone.add(key)
        return False

    def _layers(self, graph: Graph, suspect: int | None) -> Graph:
        """The suspect and as few before it as it takes, or a half of a half of …; then ddmin."""
        graph = self._halves(graph) if suspect is None else self._around(graph, suspect)
        return self._repeat(graph, self._removals)

    def _around(self, graph: Graph, suspect: int) -> Graph:
        """The suspect alone, else with the nearest layers that it depends on, ever more."""
        near = _nearest_first(graph, suspect)
        size = 1
        while size < len(graph.layers):
            part = isolated(graph, set(near[:size]))
            if self._still(part):
                return part
            if size == len(near):
                break
            size = min(2 * size + 1, len(near))
        return graph

    def _halves(self, graph: Graph) -> Graph:
        """The first or the second half of the layers, as often as one of them is enough."""
        while len(order := graph.layers) > 1:
            middle = len(order) // 2
            halves = (isolated(graph, set(h)) for h in (order[:middle], order[middle:]))
            smaller = next(filter(self._still, halves), None)
            if smaller is None:
                break
            graph = smaller
        return graph

    def _repeat(self, graph: Graph, candidates: Callable[[Graph], Iterator[Graph]]) -> Graph:
        """Take the first candidate that still shows it, until none does."""
        found = True
        while found:
            found = False
            for smaller in candidates(graph):
                if self._still(smaller):
                    graph, found = smaller, True
                    break
        return graph

    def _removals(self, graph: Graph) -> Iterator[Graph]:
        """Outputs dropped, prefixes cut off, layers bypassed, branches taken away."""
        outputs = graph.outputs
        if len(outputs) > 1:
            yield from (graph.keep([output]) for output in outputs)
        if len(outputs) > 2:
            yield from (graph.keep([o for o in outputs if o != gone]) for gone in outputs)
        for identity in reversed(graph.layers):
            rest = set(graph.layers) - set(graph.keep([identity]).nodes)
            if rest:
                yield isolated(graph, rest)
        for identity in reversed(graph.layers):
            node = graph.nodes[identity]
            for at, source in enumerate(node.inputs):
                for smaller in (
                    bypass(graph, source, identity),
                    without_branch(graph, identity, at),
                ):
                    if smaller is not None and 0 < len(smaller.layers) < len(graph.layers):
                        yield smaller

    def _defaults(self, graph: Graph) -> Graph:
        """Parameters back at their defaults and edits of weights dropped: all, halves, … each."""
        changes = [c for i in graph.layers for c in _off_default(graph, i)]
        size = len(changes)
        while size:
            for start in range(0, len(changes), size):
                smaller = _reset(graph, changes[start : start + size])
                if smaller is not None and smaller != graph and self._still(smaller):
                    graph = smaller
            size //= 2
        return graph

    def _shapes(self, graph: Graph) -> Iterator[Graph]:
        """One axis of one input smaller, one number of one layer's size smaller."""
        for identity in (*graph.inputs, *graph.layers):
            config = graph.nodes[identity].config
            for name in (n for n in _SIZES if n in config):
                for smaller in _smaller(config[name]):
                    try:
                        yield graph.change(identity, config={**config, name: smaller})
                    except InvalidLayerError:
                        continue


def unfinished(untried: int, steps: str, ceiling: str) -> str:
    """Why shrinking stopped and what it would take to go on; nothing where it did not stop.

    Args:
        untried: candidates that were left.
        steps: the budget of steps, as users name it.
        ceiling: that of time, where it was the reason, likewise.
    """
    if not untried:
        return ""
    left = f"{untried:,} smaller models are" if untried > 1 else "1 smaller model is"
    goes_on = ", and the next run goes on here" if ceiling else ""
    return f"stopped by {ceiling or steps}; {left} left to try{goes_on}"


#: What says how large an input is, and a layer.
_SIZES = ("shape", "filters", "units", "kernel_size")


def _smaller(size: Any) -> Iterator[Any]:
    """A number, or one of several, smaller: to what is worth a try."""
    if isinstance(size, int):
        yield from sorted({1, 2, 3, size // 2} & set(range(1, size)))
    else:
        for at, one in enumerate(size):
            yield from ([*size[:at], smaller, *size[at + 1 :]] for smaller in _smaller(one))


#: A node and the name of one of its parameters, or of its edits of weights.
Change = tuple[int, str]
_EDITS = "edits of weights"


def _off_default(graph: Graph, identity: int) -> list[Change]:
    """What of a layer is not as a layer is by default."""
    node = graph.nodes[identity]
    defaults = universe()[node.type].defaults()
    names = [n for n, v in sorted(node.config.items()) if n in defaults and defaults[n] != v]
    return [(identity, name) for name in ([_EDITS] if node.edits else []) + names]


def _reset(graph: Graph, changes: Iterable[Change]) -> Graph | None:
    """The graph with these back at their defaults, None where it is no valid one then."""
    nodes = dict(graph.nodes)
    for identity, name in changes:
        node = nodes[identity]
        if name == _EDITS:
            nodes[identity] = replace(node, edits=())
        else:
            default = universe()[node.type].defaults()[name]
            nodes[identity] = replace(node, config={**node.config, name: default})
    try:
        return graph.with_nodes(nodes)
    except InvalidLayerError:
        return None


def _nearest_first(graph: Graph, identity: int) -> list[int]:
    """A layer and all that it depends on, by the number of edges between."""
    found = [identity]
    for node in found:  # grows while it is gone through
        sources = graph.nodes[node].inputs
        found += [s for s in dict.fromkeys(sources) if s in graph.layers and s not in found]
    return found


def isolated(graph: Graph, layers: set[int]) -> Graph:
    """Only these layers: what they read from elsewhere becomes inputs of the model."""
    nodes: dict[int, Node] = {}
    fresh = graph.next_id
    for identity in graph.nodes:
        if identity not in layers:
            continue
        sources = []
        for source in graph.nodes[identity].inputs:
            if source not in layers:
                original, tensor = graph.nodes[source], graph.tensors[source]
                kept = original.type == INPUT and tensor.dtype == INTEGER
                nodes[fresh] = original if kept else input_node(tensor.shape, tensor.dtype)
                source, fresh = fresh, fresh + 1
            sources.append(source)
        nodes[identity] = replace(graph.nodes[identity], inputs=tuple(sources), repair=False)
    return Graph(nodes)
