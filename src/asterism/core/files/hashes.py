"""The SHA-256 of a file, or of all files of a folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

from asterism.core.messages.errors import reading
from asterism.core.settings.plain_files import open_plain


def digest_of(path: Path) -> str:
    """A hash of a file's content, or of the names and contents of all files of a folder.

    Args:
        path: the file or the folder.

    Returns:
        64 hexadecimal digits. A file's is that of ``sha256sum``.

    Raises:
        UserError: it cannot be read, or is neither a plain file nor a folder.
    """
    with reading(str(path)):
        if not path.is_dir():
            with open_plain(path) as content:
                return hashlib.file_digest(content, "sha256").hexdigest()
        whole = hashlib.sha256()
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            whole.update(f"{file.relative_to(path).as_posix()}\0{digest_of(file)}\0".encode())
        return whole.hexdigest()
