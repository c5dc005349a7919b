"""A reader that does what its file says, for the harness to notice; no part of Asterism."""

from __future__ import annotations

from pathlib import Path

from readers.examples import Places


def read(path: Path) -> None:
    exec(compile(path.read_text(), __file__, "exec"), {"path": path})


def whole_files(place: Places) -> None:
    (place(0) / "file.txt").write_text("pass")
