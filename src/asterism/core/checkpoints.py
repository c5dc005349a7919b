"""Checkpoints of long stages, so that a killed run continues to the very same result.

DVC deletes a stage's outputs before it runs again, so checkpoints live outside the workspace,
under a key made of everything that the result depends on: the stage, its parameters and the
content of its dependencies. A checkpoint of other code, parameters or inputs is never found.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from asterism.core import machine
from asterism.core.artifacts import read_json, replacing, write_json

#: Seconds between two savings: the work that a killed run does again. No result depends on it.
SAVE_EVERY = 10.0


class Checkpoint:
    """The latest saved state of one run of one stage.

    A state is a directory that the stage fills and reads as it likes. Saving replaces the old
    state by the new one in one step, so that at every moment one whole state exists.

    Args:
        stage: name of the stage, with its variant (``"fuzz-state"``).
        key: what the result depends on, as :func:`dependency_key` gives it.
    """

    def __init__(self, stage: str, key: str) -> None:
        self._root = machine.state_root() / "checkpoints" / stage / key[:32]
        self._saved = time.monotonic()

    def load(self) -> Path | None:
        """Directory of the latest whole state, or None when there is none."""
        pointer = self._root / "latest.json"
        if not pointer.exists():
            return None
        state = self._root / str(read_json(pointer)["state"])
        return state if state.is_dir() else None

    def is_due(self) -> bool:
        """Whether it is long enough ago that a state was saved, or that the run began."""
        return time.monotonic() - self._saved >= SAVE_EVERY

    def save(self, fill: Any) -> None:
        """Save a new state: ``fill(directory)`` writes it, then it replaces the old one."""
        previous = self.load()
        number = int(previous.name) + 1 if previous is not None else 0
        target = self._root / f"{number:08d}"
        with replacing(target) as directory:
            directory.mkdir()
            fill(directory)
        write_json(self._root / "latest.json", {"state": target.name})
        if previous is not None:
            shutil.rmtree(previous, ignore_errors=True)
        self._saved = time.monotonic()

    def discard(self) -> None:
        """Forget everything: the stage has finished."""
        shutil.rmtree(self._root, ignore_errors=True)


def dependency_key(stage: str, params: Any, paths: Iterable[Path]) -> str:
    """Hash of all that a stage's result depends on.

    Args:
        stage: the stage's name and variant.
        params: its parameters, as JSON-compatible values.
        paths: its dependencies; a directory stands for all the files below it.
    """
    digest = hashlib.sha256(json.dumps([stage, params], sort_keys=True).encode())
    for path in sorted(paths):
        for file in _files(path):
            digest.update(f"\0{file.as_posix()}\0".encode())
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(f for f in path.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    return [path] if path.exists() else []
