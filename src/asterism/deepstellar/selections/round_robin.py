"""DeepTest's choice in turn: one entry after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.deepstellar.selections.strategy import SELECTIONS, Selection


@SELECTIONS.register("round_robin")
@dataclass(frozen=True)
class RoundRobin(Selection):
    """The entry after the one chosen last; after the newest one the oldest."""

    def choose(
        self, chosen: NDArray[np.int64], last: int, count: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """See :meth:`Selection.choose`."""
        return (last + 1 + np.arange(count)) % len(chosen)
