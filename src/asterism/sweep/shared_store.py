"""A store through which machines without a common file system work on parts of a long stage.

A store is a folder or another address that fsspec knows, which all these machines reach. In it are
the workspace, packed once, and what parts save: finished units and checkpoints, packed as soon as
they are there. So a part that is given out again goes on from what the store has of it.
"""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import fsspec

from asterism.core.files.folders import remove_tree
from asterism.core.resuming import saved_folders

#: The packed workspace.
_WORKSPACE = "workspace.tar"


class SharedStore:
    """The files in a store that belong to one run of a stage.

    Args:
        url: of its folder, ``s3://bucket/folder`` or a path.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._files, self._base = fsspec.url_to_fs(url)
        #: What each folder of the state held when it was sent, by its name below the state's root.
        self._sent: dict[str, list[str]] = {}

    def put_workspace(self, root: Path, paths: Iterable[Path]) -> None:
        """Pack files and folders of a workspace, given relative to it."""
        self._pack(_WORKSPACE, root, paths)

    def fetch_workspace(self, target: Path) -> None:
        """Unpack the workspace into a new folder."""
        self._unpack(f"{self._base}/{_WORKSPACE}", target)

    def send(self, state: Path) -> None:
        """Send finished units and checkpoints below a state's root that have not been sent."""
        for folder in sorted(state.glob("units/*/*/*/")):
            name = folder.relative_to(state).as_posix()
            if folder.name.startswith(".") or saved_folders.is_damaged(folder.name):
                continue
            with suppress(FileNotFoundError):  # a state is replaced by the next one at any moment
                held = sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))
                if held and held != self._sent.get(name):
                    self._pack(f"{name}.tar", folder, map(Path, held))
                    self._sent[name] = held

    def receive(self, state: Path, only_checkpoints: bool = False) -> None:
        """Unpack what parts have sent, as far as it is not there yet.

        Args:
            state: the state's root.
            only_checkpoints: make empty folders of finished units, which are then skipped.
        """
        for path in self._files.glob(f"{self._base}/units/*/*/*.tar"):
            names = str(path).removesuffix(".tar").split("/")[-3:]
            folder = state.joinpath("units", *map(saved_folders.checked_name, names))
            if folder.exists():
                continue
            if only_checkpoints and not folder.name.endswith(".checkpoint"):
                folder.mkdir(parents=True)
            else:
                with suppress(tarfile.ReadError):  # its sender was killed
                    self._unpack(path, folder)

    def remove(self) -> None:
        """Remove all of it."""
        with suppress(FileNotFoundError):
            self._files.rm(self._base, recursive=True)

    def _pack(self, name: str, root: Path, paths: Iterable[Path]) -> None:
        target = f"{self._base}/{name}"
        self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
        with self._files.open(target, "wb") as file, tarfile.open(fileobj=file, mode="w|") as tar:
            for path in paths:
                tar.add(root / path, str(path))

    def _unpack(self, source: str, folder: Path) -> None:
        """Unpack beside a folder, and move it into place once it is whole."""
        own = folder.with_name(f".{folder.name}.{os.getpid()}")
        try:
            own.mkdir(parents=True)
            with (
                self._files.open(source, "rb") as file,
                tarfile.open(fileobj=file, mode="r|") as tar,
            ):
                tar.extractall(own, filter="data")  # nothing outside of it, and no links there
            own.replace(folder)
        finally:
            remove_tree(own)


def run_part_in_copy(
    url: str, run: Callable[[Path, dict[str, str], Callable[[], None]], int]
) -> int:
    """Run the command of a part in a copy of the workspace that a store has; its exit status.

    Args:
        url: of the store.
        run: runs it in a folder, with variables of its own, and calls what it is given meanwhile.
    """
    with tempfile.TemporaryDirectory(prefix="asterism-part-") as folder:
        store, here, state = SharedStore(url), Path(folder, "workspace"), Path(folder, "state")
        store.fetch_workspace(here)
        store.receive(state, only_checkpoints=True)
        status = run(here, {"ASTERISM_STATE_ROOT": str(state)}, lambda: store.send(state))
        store.send(state)
        return status
