"""Reading and writing results: formats that cannot execute code, written whole or not at all.

Every writer gives the same bytes for the same content, on every run, and moves a finished file
into place, so that a killed run leaves no half file. No reader unpickles.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.errors import UserError
from asterism.core.refusals import writing_to
from asterism.core.scratch import scratch_beside

# Most processes read and write only some of the formats: the others' libraries are loaded late.
if TYPE_CHECKING:
    import polars as pl
    from scipy import sparse

#: What NumPy and SciPy raise when a file is missing, damaged, or another kind of file.
_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    AttributeError,
    KeyError,
    RuntimeError,
    TypeError,
)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path``, moved onto it when the block ends without an error.

    Works for a file and for a directory: the block creates either at the path it is given.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with scratch_beside(path) as scratch:
        temporary = scratch / path.name
        with writing_to(path):
            yield temporary
        if temporary.is_dir() and path.is_dir():
            path.replace(scratch / "former")  # at once, so that no half of it can be left there
        temporary.replace(path)


def require_file(path: Path, kind: str) -> None:
    """Raise a :class:`UserError` unless there is a file; ``kind`` says what it should be."""
    if path.is_dir():
        raise UserError(f"{path} is a folder, no {kind}")
    if not path.is_file():
        raise UserError(f"there is no {kind} {path}")


def write_json(path: Path, value: Any) -> None:
    """Facts and metrics: keys sorted, floats in shortest form, NaN and infinity refused."""
    text = json.dumps(value, indent=2, sort_keys=True, allow_nan=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """What :func:`write_json` wrote.

    Raises:
        UserError: the file is missing or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from None


def write_arrays(path: Path, **arrays: NDArray[Any]) -> None:
    """Named arrays in one compressed ``.npz``; object arrays are refused.

    NumPy's own function asks for 64-bit sizes even in small files, and what that writes is not the
    same in all releases of Python 3.11, so that colleagues could not share what they computed.
    """
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {name!r} holds Python objects, which only pickle could store")
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.file_size = array.nbytes  # roughly: it decides on 64 bits alone
            with archive.open(entry, "w") as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an ``.npz``.

    Raises:
        UserError: missing, damaged, or holding an object array (which would need pickle).
    """
    require_file(path, ".npz file")
    try:
        if not zipfile.is_zipfile(path):  # NumPy would take it for a pickle
            raise ValueError("it is damaged, or is no .npz file")
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except _UNREADABLE as error:
        raise UserError(f"cannot read arrays from {path}: {error}") from None


def map_array(path: Path) -> NDArray[Any]:
    """A ``.npy`` file, memory-mapped and read-only.

    Raises:
        UserError: missing, damaged or an object array.
    """
    try:
        array: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
        return array
    except _UNREADABLE as error:
        raise UserError(f"cannot read the array {path}: {error}") from None


def write_sparse(path: Path, matrix: sparse.csr_array) -> None:
    """A CSR matrix as ``.npz``, indices sorted, which SciPy's ``load_npz`` reads."""
    matrix.sort_indices()
    write_arrays(
        path,
        format=np.asarray(b"csr"),
        shape=np.asarray(matrix.shape),
        data=matrix.data,
        indices=matrix.indices,
        indptr=matrix.indptr,
    )


def read_sparse(path: Path) -> sparse.csr_array:
    """What :func:`write_sparse` wrote.

    Raises:
        UserError: missing, damaged or another kind of file.
    """
    from scipy import sparse

    try:
        return sparse.csr_array(sparse.load_npz(path))
    except _UNREADABLE as error:
        raise UserError(f"cannot read a sparse matrix from {path}: {error}") from None


def write_table(
    path: Path, table: Mapping[str, Any] | Sequence[Mapping[str, Any]] | pl.DataFrame
) -> None:
    """A table as CSV (``.csv``) or Parquet (``.parquet``), by the path's suffix.

    Args:
        path: the file.
        table: columns by name, or rows that have all of the first one's columns.
    """
    import polars as pl

    frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(_columns(table))
    written = io.BytesIO()  # written by Python, whose errors have a number: a full disk is told so
    if path.suffix == ".parquet":
        frame.write_parquet(written)
    else:
        frame.write_csv(written)
    with replacing(path) as temporary:
        temporary.write_bytes(written.getbuffer())


def _columns(table: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if isinstance(table, Mapping):
        return dict(table)
    return {name: [row[name] for row in table] for name in next(iter(table), ())}


def read_table(path: Path) -> pl.DataFrame:
    """What :func:`write_table` wrote."""
    import polars as pl

    try:
        return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UserError(f"cannot read the table {path}: {error}") from None
