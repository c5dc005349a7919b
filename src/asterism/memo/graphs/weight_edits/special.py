"""A weight that is no ordinary number."""

from __future__ import annotations

import numpy as np

from asterism.memo.graphs.graph import SPECIAL
from asterism.memo.graphs.weights import KINDS, WEIGHT_EDITS, Array


@WEIGHT_EDITS.register(SPECIAL)
def special(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """NaN: one weight of the layer becomes NaN, plus or minus infinity, or 1e30."""
    number, _ = KINDS[int(rng.integers(len(KINDS)))]  # first, as `special_kinds` draws it
    filled = [a for a in arrays if a.size]
    if filled:
        chosen = filled[int(rng.integers(len(filled)))]
        chosen.reshape(-1)[int(rng.integers(chosen.size))] = number
    return arrays
