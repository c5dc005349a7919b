"""Rows that are only ever appended, column by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Columns:
    """A growing table of arrays.

    Rows never change place. A view that was taken before the table grew stays valid, so other
    threads may read rows while one thread appends.

    Args:
        rows: the first rows; their dtypes and shapes are the table's.
    """

    def __init__(self, rows: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = {name: array.copy() for name, array in rows.items()}
        self._length = len(next(iter(rows.values())))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column's rows; writing to it changes the table."""
        return self._arrays[name][: self._length]

    def append(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Add rows, all columns at once."""
        added = len(next(iter(rows.values())))
        end = self._length + added
        for name, array in self._arrays.items():
            if end > len(array):
                grown = np.empty((max(2 * len(array), end), *array.shape[1:]), array.dtype)
                grown[: self._length] = array[: self._length]
                self._arrays[name] = grown
            self._arrays[name][self._length : end] = rows[name]
        self._length = end

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All columns."""
        return {name: self[name] for name in self._arrays}
