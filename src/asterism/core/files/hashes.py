"""The SHA-256 of a file, or of all files of a folder; and the MD5 of a file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.folders import list_plain_files
from asterism.core.messages.errors import reading
from asterism.core.settings.regular_files import open_regular


def hash_path(path: Path) -> str:
    """A hash of a file's content, or of the names and contents of all files of a folder.

    Args:
        path: the file or the folder.

    Returns:
        64 hexadecimal digits. A file's is that of ``sha256sum``.

    Raises:
        UserError: it cannot be read, is neither a plain file nor a folder, or a link leads out of
            the folder.
    """
    with reading(str(path)):
        if not path.is_dir():
            with open_regular(path) as content:
                return hashlib.file_digest(content, "sha256").hexdigest()
        whole = hashlib.sha256()
        for file in list_plain_files(path):
            whole.update(f"{file.relative_to(path).as_posix()}\0{hash_path(file)}\0".encode())
        return whole.hexdigest()


def compute_md5(path: Path) -> str:
    """The MD5 of a file, by which DVC names it."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def hash_arrays(arrays: Iterable[NDArray[Any]]) -> str:
    """A hash of the types, shapes and numbers of arrays, as 64 hexadecimal digits."""
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(f"{array.dtype.str} {array.shape}\0".encode())
        whole.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return whole.hexdigest()
