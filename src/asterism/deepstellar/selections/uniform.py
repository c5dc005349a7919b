"""Any entry, with equal chances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.deepstellar.selections.strategy import SELECTIONS, Selection


@SELECTIONS.register("random")
@dataclass(frozen=True)
class UniformSelection(Selection):
    """Every entry is equally likely."""

    def choose(
        self, chosen: NDArray[np.int64], last: int, count: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """See :meth:`Selection.choose`."""
        return rng.integers(len(chosen), size=count)
