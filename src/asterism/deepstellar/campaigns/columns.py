"""Rows that are only ever appended, column by column."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays
from asterism.core.resuming.checkpoints import appended


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

    def save_new(self, folder: Path, changing: Collection[str] = ()) -> None:
        """Add a file of the rows that no file in the folder holds yet, uncompressed.

        Args:
            folder: where; its files are named as
                :func:`asterism.core.resuming.checkpoints.appended` says.
            changing: columns that are left out, since their rows change.
        """
        folder.mkdir(exist_ok=True)
        path = folder / f"{len(self):08d}.npz"
        if not path.exists():
            rows = {n: self[n][appended(folder) :] for n in self._arrays if n not in changing}
            np.savez(path, allow_pickle=False, **rows)

    @classmethod
    def load_all(cls, folder: Path, changing: Mapping[str, NDArray[Any]]) -> Self:
        """The table whose rows :meth:`save_new` has saved, with the columns that were left out."""
        parts = [read_arrays(path) for path in sorted(folder.glob("*.npz"))]
        return cls({n: np.concatenate([p[n] for p in parts]) for n in parts[0]} | dict(changing))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All columns."""
        return {name: self[name] for name in self._arrays}
