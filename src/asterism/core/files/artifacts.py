"""Reading and writing results: formats that cannot execute code, written whole or not at all.

Every writer gives the same bytes for the same content, on every run, and moves a finished file
into place, so that neither a killed run nor a loss of power leaves a half file. No reader
unpickles.
"""

from __future__ import annotations

import errno
import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.interrupts import require_uninterrupted
from asterism.core.files.limits import (
    open_zip,
    parse_json,
    read_within_limit,
    require_few_values,
    require_file_within_limit,
    require_size_within_limit,
)
from asterism.core.files.os_errors import name_path_in_os_errors
from asterism.core.files.plain_files import require_inside
from asterism.core.files.temporary import flush, flush_names, scratch_beside
from asterism.core.messages.errors import UserError, reading
from asterism.core.settings.regular_files import open_regular

# Most processes read and write only some of the formats: the others' libraries are loaded late.
if TYPE_CHECKING:
    import polars as pl
    from scipy import sparse

#: Columns of a table: each takes kilobytes, even when empty.
_MOST_COLUMNS = 10_000
#: Bytes of the line that names them.
_LONGEST_HEADER = 1_000_000

#: The folder that is being written, if any: it is flushed as a whole when it is complete.
_unfinished: ContextVar[Path | None] = ContextVar("unfinished", default=None)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path``, moved onto it when the block ends without an error.

    Works for a file and for a directory: the block creates either at the path it is given. What
    was written is flushed to the disk before it is moved, and its new name after that.

    Raises:
        UserError: a link on the way leads out of the project.
        KeyboardInterrupt: the command was interrupted meanwhile, and the block went on.
    """
    require_inside(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with scratch_beside(path) as scratch:
        temporary = scratch / path.name
        outer = _unfinished.get()
        is_inside = outer is not None and path.is_relative_to(outer)
        token = _unfinished.set(outer if is_inside else temporary)
        try:
            with name_path_in_os_errors(path):
                yield temporary
                if not is_inside:
                    flush(temporary)
                require_uninterrupted()
                if temporary.is_dir() and path.is_dir():
                    path.replace(scratch / "former")  # at once: no half of it can be left there
                temporary.replace(path)
                if not is_inside:
                    flush_names(path.parent)
        finally:
            _unfinished.reset(token)


def require_file(path: Path, kind: str) -> None:
    """Raise a :class:`UserError` unless there is a file; ``kind`` says what it should be."""
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        is_folder = is_file = False
    if is_folder:
        raise UserError(f"{path} is a folder, no {kind}")
    if not is_file:
        raise UserError(f"there is no {kind} {path}")


def write_json(path: Path, value: Any) -> None:
    """Facts and metrics: keys sorted, floats in shortest form, NaN and infinity rejected."""
    text = json.dumps(value, indent=2, sort_keys=True, allow_nan=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """What :func:`write_json` wrote.

    Raises:
        UserError: the file is missing, too large, nested too deeply, or is not JSON.
    """
    with reading(str(path)):
        text = read_within_limit(path, "limits.text_mb")
    return parse_json(text, str(path))


def write_empty_results(metrics: Path, folder: Path) -> None:
    """Write the results of a stage that has nothing to do: no numbers, and an empty folder."""
    folder.mkdir(parents=True)
    write_json(metrics, {})


def write_arrays(path: Path, **arrays: NDArray[Any]) -> None:
    """Named arrays in one compressed ``.npz``; object arrays are rejected.

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
        UserError: missing, damaged, larger than ``limits.array_mb``, or holding an object array
            (which would need pickle).
    """
    require_file(path, ".npz file")
    with reading(f"arrays from {path}"):
        if not zipfile.is_zipfile(path):
            raise ValueError("it is damaged, or is no .npz file")
        with open_zip(path, "limits.array_mb") as archive:
            return {
                entry.filename.removesuffix(".npy"): _array(archive, entry)
                for entry in archive.infolist()
            }


def read_array_types(path: Path) -> dict[str, np.dtype[Any]]:
    """Types of the arrays of an ``.npz``, or of a ``.npy``'s under ``""``; no values are read.

    Raises:
        UserError: see :func:`read_arrays`.
    """
    require_file(path, "file of arrays")
    with reading(f"arrays from {path}"):
        if path.suffix == ".npy":
            with open_regular(path) as file:
                return {"": _stated(file)[1]}
        found = {}
        with open_zip(path, "limits.array_mb") as archive:
            for entry in archive.infolist():
                with archive.open(entry) as member:
                    found[entry.filename.removesuffix(".npy")] = _stated(member)[1]
        return found


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """A member of an archive, once its header states the size that the archive states."""
    with archive.open(entry) as file:
        size, header = _declared_size(file)
    if size + header != entry.file_size:
        raise ValueError(
            f"{entry.filename} states {size:,} bytes of values, and takes "
            f"{entry.file_size - header:,}"
        )
    with archive.open(entry) as file:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        file.read()  # nothing, but it checks the checksum
    return array


def _declared_size(file: IO[bytes]) -> tuple[int, int]:
    """Bytes of the values that a ``.npy`` header states, and of the header itself."""
    shape, dtype = _stated(file)
    return math.prod(shape) * dtype.itemsize, file.tell()


def _stated(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of the values that a ``.npy`` header states."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"its arrays have version {version[0]}.{version[1]} of the .npy format")
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which only pickle could store")
    if min(shape, default=0) < 0 or not dtype.itemsize:
        raise ValueError(f"it states an array of the shape {shape} and the type {dtype}")
    return shape, dtype


def read_array(path: Path) -> NDArray[Any]:
    """The array of a ``.npy`` file.

    Raises:
        UserError: missing, damaged, larger than ``limits.array_mb``, or an object array.
    """
    require_file(path, ".npy file")
    with reading(f"the array {path}"):
        require_file_within_limit(path, "limits.array_mb")
        with path.open("rb") as file:
            size, header = _declared_size(file)
            if size + header != path.stat().st_size:
                raise ValueError(f"it states {size:,} bytes of values, and has fewer or more")
            file.seek(0)
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def map_array(path: Path) -> NDArray[Any]:
    """A ``.npy`` file, memory-mapped and read-only.

    Raises:
        UserError: missing, damaged or an object array.
    """
    require_file(path, ".npy file")
    with reading(f"the array {path}"):
        with open_regular(path) as file:
            _declared_size(file)
        return np.lib.format.open_memmap(path, mode="r")


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
        UserError: missing, damaged, too large or another kind of file.
    """
    from scipy import sparse

    arrays = read_arrays(path)
    with reading(f"a sparse matrix from {path}"):
        if arrays["format"].tobytes() != b"csr":
            raise ValueError("it is no matrix by rows")
        rows, columns = (int(size) for size in arrays["shape"])
        require_size_within_limit(columns * 8, "limits.array_mb", f"{path} declares rows")
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        matrix = sparse.csr_array(parts, shape=(rows, columns))
        matrix.check_format(full_check=True)  # the code behind it trusts the indices
        return matrix


def write_table(
    path: Path, table: Mapping[str, Any] | Sequence[Mapping[str, Any]] | pl.DataFrame
) -> None:
    """A table as CSV.

    Args:
        path: the file.
        table: columns by name, or rows that have all of the first one's columns.
    """
    import polars as pl

    frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(_columns(table))
    written = io.BytesIO()  # written by Python, whose errors have a number: a full disk is told so
    frame.write_csv(written)
    with replacing(path) as temporary:
        # No view of the buffer: Python 3.12.1 crashes when it collects one that an error holds.
        temporary.write_bytes(written.getvalue())


def _columns(table: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if isinstance(table, Mapping):
        return dict(table)
    return {name: [row[name] for row in table] for name in next(iter(table), ())}


def read_table(path: Path) -> pl.DataFrame:
    """What :func:`write_table` wrote.

    Raises:
        UserError: missing, damaged, larger than ``limits.text_mb``, or with too many columns or
            rows.
    """
    import polars as pl

    with reading(f"the table {path}"):
        text = read_within_limit(path, "limits.text_mb")
        columns = _most_columns(text)
        if columns > _MOST_COLUMNS:
            raise ValueError(f"it has more than {_MOST_COLUMNS:,} columns")
        rows = text.count(b"\n")
        require_few_values(rows, 0, rows * columns, str(path))
        return pl.read_csv(text)


def _most_columns(text: bytes) -> int:
    """The most columns that a table's header can name; a quoted name may hold commas and lines."""
    commas = quotes = 0
    for line in io.BytesIO(text[:_LONGEST_HEADER]):
        commas, quotes = commas + line.count(b","), quotes + line.count(b'"')
        if line.endswith(b"\n") and quotes % 2 == 0:
            return commas + 1
    if len(text) > _LONGEST_HEADER:
        raise ValueError(f"the names of its columns take more than {_LONGEST_HEADER:,} bytes")
    return commas + 1
