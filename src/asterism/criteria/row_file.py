"""Rows on disk: rows of numbers, and a hash table of rows of bytes, with bounded use of memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.os_errors import name_path_in_os_errors
from asterism.core.random_streams import stream

Keys = NDArray[np.uint64]
Rows = NDArray[np.uint8]
Ints = NDArray[np.int64]
#: Entries of a block.
BLOCK = 1 << 16


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
        with name_path_in_os_errors(Path(tempfile.gettempdir())):
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


def zobrist_keys(purpose: str, *shape: int) -> Keys:
    """A random 64-bit key for each of some elementary facts.

    The exclusive or of its facts' keys names a combination of them (Zobrist 1970). Two different
    combinations share a name with probability 2⁻⁶⁴.
    """
    return stream(0, "criteria", purpose).integers(0, 2**64, shape, np.uint64)


@dataclass(frozen=True)
class _Sealed:
    """A full block, on disk and never changed again."""

    keys: RowFile
    rows: RowFile


class KeyTable:
    """Rows of bytes under 64-bit keys; a key may have several rows.

    New entries go to a block in memory. A full block is sealed on disk, where lookups read it one
    block at a time. Copies share what is sealed.

    Args:
        width: bytes of a row.
    """

    def __init__(self, width: int = 0) -> None:
        self._sealed: list[_Sealed] = []
        self._keys: Keys = np.empty(0, np.uint64)
        self._rows: Rows = np.empty((0, width), np.uint8)

    def __len__(self) -> int:
        return len(self._keys) + sum(len(block.keys) for block in self._sealed)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = type(self)(self._rows.shape[1])
        twin._sealed = list(self._sealed)
        twin._keys, twin._rows = self._keys, self._rows  # replaced by larger ones, never changed
        return twin

    def add(self, keys: Keys, rows: Rows | None = None) -> None:
        """Enter keys ``(N,)`` with their rows ``(N, width)``."""
        if rows is None:
            rows = np.empty((len(keys), 0), np.uint8)
        for start in range(0, len(keys), BLOCK):
            if len(self._keys) >= BLOCK:
                self._seal()
            part = slice(start, start + BLOCK)
            together = np.concatenate([self._keys, keys[part]])
            order = np.argsort(together, kind="stable")
            self._keys = together[order]
            self._rows = np.concatenate([self._rows, rows[part]])[order]

    def has(self, keys: Keys) -> NDArray[np.bool_]:
        """Whether each of some keys ``(N,)`` is there."""
        found = np.zeros(len(keys), np.bool_)
        for known, _ in self._blocks():
            found[_present(known, keys)[0]] = True
        return found

    def find(self, keys: Keys) -> Iterator[tuple[Ints, Rows]]:
        """All rows of some keys, block by block.

        Yields:
            Positions in ``keys`` and, for each of these, a row under that key.
        """
        for known, rows in self._blocks():
            hits, first = _present(known, keys)
            counts = np.searchsorted(known, keys[hits], "right") - first
            ends = np.cumsum(counts)
            entries = np.arange(counts.sum()) - np.repeat(ends - counts - first, counts)
            yield np.repeat(hits, counts), rows[entries]

    def rows(self) -> Iterator[Rows]:
        """All rows, block by block."""
        for _, rows in self._blocks():
            yield rows

    def _blocks(self) -> Iterator[tuple[Keys, Rows]]:
        for block in self._sealed:
            yield block.keys.read(), block.rows.read()
        yield self._keys, self._rows

    def _seal(self) -> None:
        block = _Sealed(RowFile((), np.uint64), RowFile(self._rows.shape[1:], np.uint8))
        block.keys.append(self._keys)
        block.rows.append(self._rows)
        self._sealed.append(block)
        self._keys, self._rows = self._keys[:0], self._rows[:0]


def _present(known: Keys, keys: Keys) -> tuple[Ints, Ints]:
    """Positions of those ``keys`` that the sorted ``known`` hold, and of where it holds them."""
    if not len(known):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    at = np.searchsorted(known, keys)
    hits = np.flatnonzero(known[np.minimum(at, len(known) - 1)] == keys)
    return hits, at[hits]
