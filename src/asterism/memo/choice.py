"""Which of many models to run: making one takes a millisecond, running it in libraries a second."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Sequence


def broadest(covered: Sequence[Collection[Hashable]], count: int) -> list[int]:
    """Positions of ``count`` models that together cover much, in the order of the choice.

    Each is the one that covers most of what the earlier ones do not, the first of equals. So the
    first n, for every n, cover at least 1 - 1/e of what any n could (Nemhauser, Wolsey and Fisher
    1978). Where nothing new is left, the choice among the rest begins anew.

    Args:
        covered: what each model covers.
        count: how many to choose; all where there are fewer.
    """
    chosen: list[int] = []
    rest = list(range(len(covered)))
    while rest and len(chosen) < count:
        still = count - len(chosen)
        cover = _cover(covered, rest, still) or rest[:still]
        chosen += cover
        rest = sorted(set(rest).difference(cover))
    return chosen


def _cover(covered: Sequence[Collection[Hashable]], among: Sequence[int], count: int) -> list[int]:
    """Those that each add something, the largest addition first, until nothing is added.

    What a model adds only ever falls. So one whose latest count is still the largest of all counts,
    however old these are, is the largest indeed, and most are counted a few times only.
    """
    seen: set[Hashable] = set()
    cover: list[int] = []
    queue = [(-len(covered[at]), at) for at in among]
    heapq.heapify(queue)
    while len(cover) < count and queue and queue[0][0] < 0:
        _, at = queue[0]
        now = (-len(set(covered[at]) - seen), at)
        if now == queue[0]:
            heapq.heappop(queue)
            seen.update(covered[at])
            cover.append(at)
        else:
            heapq.heapreplace(queue, now)
    return cover
