"""Bounds on how far a mutant may be from its seed, and mutants that keep to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Items = NDArray[Any]
Rows = NDArray[np.int64]

#: How often a mutant that is outside of the bound is made anew.
_ATTEMPTS = 8


class Bound(ABC):
    """A limit on the distance of items from their references, such as mutants from seeds."""

    @abstractmethod
    def enclose(self, items: Items, references: Rows) -> tuple[Items, NDArray[np.bool_]]:
        """Move items towards their references until they lie within, if they can be moved.

        Args:
            items: ``(n, ...)``.
            references: the index of each item's reference, int64 ``(n,)``.

        Returns:
            The moved items, ``(n, ...)``, and which of them lie within the bound, bool ``(n,)``.
        """


@dataclass(frozen=True)
class Box(Bound):
    """An L∞ bound: a range for each number of an item, around that of its reference.

    Attributes:
        low: the smallest values, ``(N, ...)``, of the items' dtype.
        high: the largest values, of the same shape and dtype.
    """

    low: Items
    high: Items

    def enclose(self, items: Items, references: Rows) -> tuple[Items, NDArray[np.bool_]]:
        """See :meth:`Bound.enclose`; each number is clipped, and an item with NaN is not within."""
        # NumPy's clip takes three times as long.
        clipped = np.maximum(items, self.low[references])
        np.minimum(clipped, self.high[references], out=clipped)
        least = clipped.reshape(len(items), -1).min(axis=1)
        return clipped, ~np.isnan(least)


def within_bound(
    bound: Bound | None,
    references: Rows,
    fallback: Items,
    mutate: Callable[[Rows, int], Items],
) -> Items:
    """Mutants within a bound; what is outside is moved into it, or made anew a few times.

    No model is asked about what is rejected.

    Args:
        bound: None: there is none.
        references: the index of what each mutant is measured against, int64 ``(n,)``.
        fallback: what stands for a mutant of which no attempt lay within the bound, ``(n, ...)``.
        mutate: makes mutants of these rows, int64 ``(m,)``; its second argument counts the
            attempts from 0.
    """
    rows = np.arange(len(references))
    if bound is None:
        return mutate(rows, 0)
    result, inside = bound.enclose(mutate(rows, 0), references)
    outside = rows[~inside]
    for attempt in range(1, _ATTEMPTS):
        if not len(outside):
            break
        made, inside = bound.enclose(mutate(outside, attempt), references[outside])
        result[outside] = made
        outside = outside[~inside]
    result[outside] = fallback[outside]
    return result
