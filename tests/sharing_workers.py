"""What the workers of one test run share: a folder, where the first that needs a thing makes it."""

from pathlib import Path

_folders: list[Path] = []


def share(folder: Path) -> None:
    """Name the run's folder, once for each worker."""
    folder.mkdir(exist_ok=True)
    _folders[:] = [folder]


def shared_folder() -> Path:
    """The run's folder; who makes something in it holds a lock beside it."""
    (folder,) = _folders
    return folder
