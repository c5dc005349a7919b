"""The symbols that sequences consist of, and which of them may be changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Sequences = NDArray[Any]
Lengths = NDArray[np.int64]


class Alphabet:
    """Symbols 0 to ``size - 1``.

    Args:
        size: how many there are.
        padding: the symbol that fills a row after its end; it may lie outside of the others.
        protected: symbols that no mutator changes, moves, removes or inserts, such as the ones
            that begin and end a sentence.
    """

    def __init__(self, size: int, padding: int, protected: Sequence[int] = ()) -> None:
        self.size = size
        self.padding = padding
        left_alone = {padding, *protected}
        #: The symbols that can be inserted, ascending, int64.
        self.free = np.array([s for s in range(size) if s not in left_alone], np.int64)
        self._fixed = np.array(sorted(left_alone), np.int64)

    def lengths(self, sequences: Sequences) -> Lengths:
        """Symbols of each row before the padding at its end, int64 ``(N,)``."""
        filled = sequences != self.padding
        last: Lengths = sequences.shape[1] - filled[:, ::-1].argmax(axis=1)
        return np.where(filled.any(axis=1), last, 0)

    def editable(self, sequences: Sequences) -> NDArray[np.bool_]:
        """Which symbols may be changed: neither padding nor protected, bool ``(N, T)``."""
        editable: NDArray[np.bool_] = sequences != self._fixed[0]
        for symbol in self._fixed[1:]:
            editable &= sequences != symbol
        return editable

    def drawn(self, chances: NDArray[np.float64]) -> NDArray[np.int64]:
        """A free symbol for each number from [0, 1)."""
        drawn: NDArray[np.int64] = self.free[(chances * len(self.free)).astype(np.int64)]
        return drawn
