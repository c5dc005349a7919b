"""Mutants within a bound around their seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.dflare.domains import Domain
from asterism.dflare.params import BoundParams

Items = NDArray[Any]
Rows = NDArray[np.int64]

#: How often a mutant that is outside of the bound is made anew.
ATTEMPTS = 8


def within_bound(
    domain: Domain,
    bound: BoundParams | None,
    references: Items,
    fallback: Items,
    mutate: Callable[[Rows, int], Items],
) -> Items:
    """Mutants that lie within a bound.

    What is outside is moved into the bound where the domain can, or made anew. No model is asked
    about what is rejected.

    Args:
        domain: the kind of inputs.
        bound: the bound; None: there is none.
        references: what each mutant is measured against, ``(n, ...)``.
        fallback: what stands for a mutant of which no attempt lay within the bound, ``(n, ...)``.
        mutate: makes mutants of these rows, int64 ``(m,)``; its second argument counts the
            attempts from 0.
    """
    rows = np.arange(len(references))
    if bound is None:
        return mutate(rows, 0)
    result = fallback.copy()
    for attempt in range(ATTEMPTS):
        if not len(rows):
            break
        measured = references[rows]
        made = domain.project(mutate(rows, attempt), measured, bound.measure, bound.limit)
        inside = domain.within(made, measured, bound.measure, bound.limit)
        result[rows[inside]] = made[inside]
        rows = rows[~inside]
    return result
