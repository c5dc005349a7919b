"""What a reader is given: a folder of files, some of which may be no plain files at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

#: The folder of the bait, as an example's files may call it, wherever its main file lies.
OUTSIDE = "../../outside"
#: Gives the folder of a whole example, by its number.
Places = Callable[[int], Path]


@dataclass(frozen=True)
class Odd:
    """Something in a file's place.

    Args:
        kind: ``link`` (to ``target``), ``fifo``, ``folder``, or ``sparse`` (``size`` zeros that
            take no space on the disk).
        target: of a link.
        size: bytes of a sparse file.
    """

    kind: str
    target: str = ""
    size: int = 0

    def write(self, path: Path) -> None:
        match self.kind:
            case "link":
                path.symlink_to(self.target)
            case "fifo":
                os.mkfifo(path)
            case "folder":
                path.mkdir()
            case "sparse":
                with path.open("wb") as file:
                    file.truncate(self.size)


Content = bytes | Odd


@dataclass(frozen=True)
class Example:
    """Files by their paths in a folder.

    Args:
        main: the path that the reader is given; ``.`` for the folder itself.
        files: contents, by paths relative to the folder.
    """

    main: str
    files: Mapping[str, Content] = field(repr=False)

    def write(self, folder: Path) -> Path:
        """Make the folder anew; the path for the reader."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Odd):
                content.write(path)
            else:
                path.write_bytes(content)
        return folder / self.main

    @classmethod
    def read(cls, folder: Path, main: str) -> Example:
        """The plain files of a folder."""
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        return cls(main, {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths})

    def change(self, name: str, content: Content | None) -> Example:
        """The same with one file replaced; None takes it away."""
        files = {n: c for n, c in self.files.items() if n != name}
        if content is not None:
            files[name] = content
        return replace(self, files=files)
