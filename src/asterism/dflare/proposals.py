"""Proposals of a search: the inputs that both models are asked about next."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Items = NDArray[Any]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Proposal:
    """Mutants to ask the models about in one call.

    Attributes:
        trajectories: whose they are, int64 ``(t,)``.
        counts: how many queries each trajectory has, at least 1, int64 ``(t,)``.
        items: the mutants ``(n, ...)``, trajectory by trajectory, each one's in the order in which
            they count.
        comes_again: which mutants a search is likely to make once more, bool ``(n,)``.
        skipped: which of the queries have no item: they are counted, and nothing comes of them,
            bool ``(sum of counts,)``; None: each query has its item.
    """

    trajectories: Rows
    counts: Rows
    items: Items
    comes_again: NDArray[np.bool_]
    skipped: NDArray[np.bool_] | None = field(default=None, kw_only=True)

    @cached_property
    def rows(self) -> Rows:
        """The query of each item, int64 ``(n,)``."""
        if self.skipped is None:
            return np.arange(len(self.items))
        return np.flatnonzero(~self.skipped)

    @cached_property
    def owners(self) -> Rows:
        """The trajectory of each item, int64 ``(n,)``."""
        return np.repeat(self.trajectories, self.counts)[self.rows]
