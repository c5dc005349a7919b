"""Mapping sparse integer codes to dense numbers, for millions of codes a second."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

#: Largest span of codes for which a table of positions is worth its memory (32 bits an entry).
_TABLE_SPAN = 1 << 24


class CodeIndex:
    """Positions of codes in a sorted array of distinct codes.

    Args:
        codes: int64 ``(S,)``, strictly increasing.
    """

    def __init__(self, codes: NDArray[np.int64]) -> None:
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    def positions(self, codes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Position of each code, -1 where it is not among those indexed; any shape."""
        if len(self.codes) == 0:
            return np.full(codes.shape, -1, np.int32)
        first, last = int(self.codes[0]), int(self.codes[-1])
        if last - first < _TABLE_SPAN:
            # Codes below the first one and above the last one meet the two -1 at the table's ends.
            places = np.clip(codes, first - 1, last + 1) - (first - 1)
            return self._table[places]
        found = np.searchsorted(self.codes, codes)
        found[found == len(self.codes)] = 0
        return np.where(self.codes[found] == codes, found, -1).astype(np.int32)

    @cached_property
    def _table(self) -> NDArray[np.int32]:
        first = int(self.codes[0]) - 1
        table = np.full(int(self.codes[-1]) - first + 2, -1, np.int32)
        table[self.codes - first] = np.arange(len(self.codes), dtype=np.int32)
        return table
