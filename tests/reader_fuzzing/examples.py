"""What a reader is given: a folder of files, some of which may be no plain files at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path


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
        origin: how it was made, for people.
    """

    main: str
    files: Mapping[str, Content]
    origin: str = field(default="", compare=False)

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
        """An example that lies in a folder; FIFOs and links come back as such."""
        files: dict[str, Content] = {}
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_symlink():
                files[name] = Odd("link", str(path.readlink()))
            elif path.is_fifo():
                files[name] = Odd("fifo")
            elif path.is_file():
                sparse = path.stat().st_blocks * 512 < path.stat().st_size // 2
                large = path.stat().st_size > 1 << 24
                size = path.stat().st_size
                files[name] = Odd("sparse", size=size) if sparse and large else path.read_bytes()
            elif path.is_dir() and not any(path.iterdir()):
                files[name] = Odd("folder")
        return cls(main, files)

    def change(self, name: str, content: Content | None, origin: str = "") -> Example:
        """The same with one file replaced; None takes it away."""
        files = {n: c for n, c in self.files.items() if n != name}
        if content is not None:
            files[name] = content
        return replace(self, files=files, origin=origin or self.origin)
