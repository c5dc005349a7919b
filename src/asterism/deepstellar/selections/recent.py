"""TensorFuzz's choice: mostly what was found last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.deepstellar.selections.strategy import SELECTIONS, Selection


@SELECTIONS.register("recent")
@dataclass(frozen=True)
class Recent(Selection):
    """One of the newest entries or, with an equal chance beside them, of all entries.

    Odena et al., "TensorFuzz: Debugging Neural Networks with Coverage-Guided Fuzzing", ICML 2019.

    Attributes:
        newest: how many entries count as the newest.
    """

    newest: int = 5

    def __post_init__(self) -> None:
        if self.newest < 1:
            raise ValueError(f"at least 1 entry must count as newest, not {self.newest}")

    def choose(
        self, chosen: NDArray[np.int64], last: int, count: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """See :meth:`Selection.choose`."""
        size = len(chosen)
        newest = min(self.newest, size)
        age = rng.integers(newest + 1, size=count)
        anywhere = rng.integers(size, size=count)
        return np.where(age < newest, size - 1 - age, anywhere)
