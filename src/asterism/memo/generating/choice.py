"""The choice of the models to run: making one takes a millisecond, running it most of a second."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Sequence

from asterism.memo.graphs.graph import Graph
from asterism.memo.universe.spec import universe

#: The cost of any model beside that of its layers, in units of one plain layer (measured, see
#: ``docs/measurements/libraries.md``).
MODEL_COST = 15


def cost_of(graph: Graph) -> int:
    """About how long a model takes in the libraries, in units of one plain layer."""
    layers = universe()
    return MODEL_COST + sum(
        spec.cost(node.config, [graph.tensors[i] for i in node.inputs])
        for node in graph.nodes.values()
        if (spec := layers.get(node.type)) is not None
    )


def broadest(
    covered: Sequence[Collection[Hashable]], sizes: Sequence[int], count: int
) -> list[int]:
    """Positions of models that together cover much for their size, in the order of the choice.

    Each adds most, for its size, to what the earlier ones cover; it is the first of equals. So
    those chosen cover at least 1 - 1/e of what any models of their total size could (Khuller, Moss
    and Naor 1999). Large ones are not favoured: they cost more to run, and one layer that a library
    does not support hides all others. Where nothing new is left, the choice begins anew among the
    rest.

    Args:
        covered: what each model covers.
        sizes: how large each is, at least 1.
        count: how many to choose; all where there are fewer.
    """
    chosen: list[int] = []
    rest = list(range(len(covered)))
    while rest and len(chosen) < count:
        still = count - len(chosen)
        cover = _cover(covered, sizes, rest, still) or rest[:still]
        chosen += cover
        rest = sorted(set(rest).difference(cover))
    return chosen


def _cover(
    covered: Sequence[Collection[Hashable]],
    sizes: Sequence[int],
    among: Sequence[int],
    count: int,
) -> list[int]:
    """Those that each add something, the largest addition for its size first.

    What a model adds only ever falls. So one whose latest addition is still the largest of all,
    however long ago the others were counted, is the largest indeed, and most are counted rarely.
    """
    seen: set[Hashable] = set()
    cover: list[int] = []
    queue = [(-len(covered[at]) / sizes[at], at) for at in among]
    heapq.heapify(queue)
    while len(cover) < count and queue and queue[0][0] < 0:
        _, at = queue[0]
        now = (-len(set(covered[at]) - seen) / sizes[at], at)
        if now == queue[0]:
            heapq.heappop(queue)
            seen.update(covered[at])
            cover.append(at)
        else:
            heapq.heapreplace(queue, now)
    return cover
