"""Which special numbers are among a model's weights: NaN, infinities, numbers all but too large."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from asterism.core.randomness.random_streams import stream
from asterism.memo.graphs.graph import SPECIAL, Graph
from asterism.memo.graphs.weights import Array

#: What the edit of a special weight draws from, each with the kind of inputs that it is like.
KINDS = ((np.nan, "nan"), (np.inf, "infinity"), (-np.inf, "infinity"), (1e30, "largest"))

#: A weight beyond this is all but too large.
_LARGE = 1e20


def special_kinds(graph: Graph) -> tuple[str, ...]:
    """The kinds of special numbers that edits put into a model's weights."""
    edits = [e for node in graph.nodes.values() for e in node.edits if e.kind == SPECIAL]
    drawn = (int(stream(edit.seed, "edit").integers(len(KINDS))) for edit in edits)
    return tuple(sorted({KINDS[number][1] for number in drawn}))


def kinds_among(arrays: Iterable[Array]) -> tuple[str, ...]:
    """The kinds of special numbers in some weights."""
    found = set()
    for array in arrays:
        found |= {"nan"} if np.isnan(array).any() else set()
        found |= {"infinity"} if np.isinf(array).any() else set()
        finite = array[np.isfinite(array)]
        found |= {"largest"} if (np.abs(finite) > _LARGE).any() else set()
    return tuple(sorted(found))
