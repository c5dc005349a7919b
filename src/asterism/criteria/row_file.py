"""Rows of numbers on disk, for what grows with the number of inputs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.os_errors import writing_to


class RowFile:
    """Rows of equal length in a file without a name: appended, then read piece by piece.

    The file lies in the folder for temporary files (``TMPDIR``) and is gone when the last
    reference to it is, whatever ends the process.

    Args:
        shape: of one row.
        dtype: of the numbers.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._shape = shape
        self._dtype = np.dtype(dtype)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this object
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows ``(N, *shape)`` at the end."""
        if rows.shape[1:] != self._shape:
            raise ValueError(f"rows of shape {rows.shape[1:]} in a file of {self._shape}")
        with writing_to(Path(tempfile.gettempdir())):
            self._file.seek(0, 2)
            self._file.write(np.ascontiguousarray(rows, self._dtype).data)
            self._file.flush()
        self._count += len(rows)

    def read(self, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """A copy in memory of the rows ``start`` to ``stop`` (excluded; None: all the rest)."""
        stop = self._count if stop is None else min(stop, self._count)
        count, per_row = max(stop - start, 0), int(np.prod(self._shape))
        self._file.seek(start * per_row * self._dtype.itemsize)
        numbers = np.fromfile(self._file, self._dtype, count * per_row)
        return numbers.reshape(count, *self._shape)

    def mapped(self) -> NDArray[Any]:
        """All rows, at least one, as an array whose memory is the file."""
        return np.memmap(self._file, self._dtype, "r+", shape=(self._count, *self._shape))

    def chunks(self, size: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """All rows, ``size`` at a time, each piece with the position of its first row."""
        for start in range(0, self._count, size):
            yield start, self.read(start, start + size)
