"""Libraries that run files, as users name them; and environments that hold other versions of them.

A package index is asked for every file once: what was downloaded stays beside the environment until
it is made, so that an interrupted command goes on. The environment itself is made in a folder of
another name and moved into place when it is whole.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Container
from contextlib import suppress
from pathlib import Path

from asterism.core.files.folders import make_private_folder
from asterism.core.files.locks import hold_lock
from asterism.core.files.temporary import scratch_beside
from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import suggest_closest
from asterism.core.resuming import saved_folders
from asterism.differential.adapters.backend_names import plugin_of, reads_given_files, suffix_of
from asterism.differential.adapters.environments import (
    Environment,
    environments_root,
    installed_packages,
    package_of,
    read_environment,
    versions_of,
)
from asterism.differential.adapters.library import LIBRARIES, FileLibrary, FileReference

#: What an environment's Python says of itself.
_VERSION = "import json, sys; print(json.dumps(sys.version_info[:2]))"

#: Lines of an installer's output that a message quotes.
_LINES = 3


def make_environment(wanted: Environment, say: Callable[[str], None]) -> None:
    """Make an environment, unless it is there already.

    Args:
        wanted: the environment.
        say: told what it costs, before and after.

    Raises:
        UserError: its Python is not on this machine, a package cannot be installed, or others can
            write to where it would lie.
    """
    make_private_folder(environments_root())
    folder = wanted.folder
    with hold_lock(folder.with_name(f"{folder.name}.lock")):
        if wanted.is_made:
            say(f"{wanted.name} is made: {_megabytes(folder)} MB in {folder}")
            return
        python = sys.executable if wanted.over_installed else find_python(wanted.python)
        say(f"{wanted.name}: making it takes {wanted.cost}")
        downloads = folder.with_name(f"{folder.name}.downloads")
        downloads.mkdir(exist_ok=True)
        with scratch_beside(folder) as scratch:
            made = scratch / folder.name
            _run(
                [python, "-I", "-m", "venv", str(made)], f"no environment could be made by {python}"
            )
            pinned = scratch / "requirements.txt"
            pinned.write_text("\n".join(wanted.requirements) + "\n", encoding="utf-8")
            pip = [str(made / "bin/python"), "-I", "-m", "pip", "--disable-pip-version-check", "-q"]
            failed = f"the packages of {wanted.name} cannot be installed"
            _run([*pip, "download", "--no-deps", "-d", str(downloads), "-r", str(pinned)], failed)
            offline = ["--no-deps", "--no-index", "--find-links", str(downloads)]
            _run([*pip, "install", *offline, "-r", str(pinned)], failed)
            _run([*pip, "uninstall", "-y", "pip"], failed)
            if wanted.over_installed:
                _lay_over_installed(made)
            downloaded = _megabytes(downloads)
            os.sync()
            made.replace(folder)
        shutil.rmtree(downloads, ignore_errors=True)
        say(f"{wanted.name} is made: {downloaded} MB of packages, {_megabytes(folder)} MB of disk")


def _lay_over_installed(made: Path) -> None:
    """Let an environment find what is installed here behind what it has itself.

    That comes last: an installer that saw those packages would try to replace them.
    """
    (packages,) = made.glob("lib/python*/site-packages")
    outer = packages / "installed.pth"
    outer.write_text(f"{installed_packages()}\n", encoding="utf-8")


def remove_environment(unwanted: Environment, say: Callable[[str], None]) -> None:
    """Remove an environment and what was downloaded for it, where there is something."""
    folder = unwanted.folder
    lock = folder.with_name(f"{folder.name}.lock")
    with hold_lock(lock):
        gone = folder.with_name(f".{folder.name}.gone")
        downloads = folder.with_name(f"{folder.name}.downloads")
        freed = 0
        with suppress(FileNotFoundError):
            folder.replace(gone)  # at once: no half of it is ever used
        for path in (gone, downloads):
            if path.exists():
                freed += _megabytes(path)
                shutil.rmtree(path)
        lock.unlink()
    say(f"{unwanted.name}: {freed} MB are freed" if freed else f"{unwanted.name} is not made")


def find_python(version: str) -> str:
    """A Python of that version: this one, or one on the PATH.

    Raises:
        UserError: there is none.
    """
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    found = shutil.which(f"python{version}")
    if found is None or _version_of(found) != version:
        raise UserError(f"there is no python{version} on the PATH: install it, and run this again")
    return found


def _version_of(python: str) -> str:
    with suppress(OSError, ValueError):
        said = subprocess.run([python, "-c", _VERSION], capture_output=True, check=False)
        return ".".join(map(str, json.loads(said.stdout)))
    return ""


def _run(command: list[str], failed: str) -> None:
    """Run a step of the installation.

    Raises:
        UserError: it fails.
    """
    # What is set for this process' Python and for its packages does not hold for another one.
    given = {n: v for n, v in os.environ.items() if n not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=given,
        umask=0o077,  # what is run is nobody else's to change
        check=False,
    )
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        raise UserError(f"{failed}: {' / '.join(errors[-_LINES:])}")


def _megabytes(folder: Path) -> int:
    return saved_folders.size(folder) // 1_000_000


#: Told what making an environment costs.
Say = Callable[[str], None]


def readers_of(formats: Container[str]) -> list[str]:
    """The libraries under test that run files of these formats, by the files' suffixes."""
    kinds = {name: LIBRARIES[name] for name in LIBRARIES}
    tested = {name: kind for name, kind in kinds.items() if not issubclass(kind, FileReference)}
    return [n for n, k in tested.items() if issubclass(k, FileLibrary) and k.suffix in formats]


def readers_of_version(
    library: str, version: str, say: Say, formats: Container[str]
) -> dict[str, str]:
    """The readers of a library's files, in a version; environments are made where they are missing.

    A package may read each format by a library of its own: OpenVINO has one of ONNX files and one
    of exported programs.

    Args:
        library: by name.
        version: its version, or another library: ``openvino``, ``openvino@2024.6``.
        say: told what making an environment costs.
        formats: suffixes of the files that it is to run.

    Returns:
        The reader of each format that it reads, by the suffix.

    Raises:
        UserError: the library reads no such files, or its environment is not to be had.
    """
    if "@" in version or version in LIBRARIES:
        library, _, version = version.partition("@")
    known = readers_of(formats)
    kin = [n for n in known if LIBRARIES[n].packages[0] == package_of(library)]
    kin.sort(key=lambda name: (name != library, len(LIBRARIES[name].packages)))
    found: dict[str, str] = {}
    for reader in kin or [library]:  # the named one, or the one that needs nothing else
        if (suffix := suffix_of(reader)) not in found:
            found[suffix] = ensure_environment(named_version(reader, version, formats), say)
    return found


def ensure_environment(reader: str, say: Say) -> str:
    """A reader by its name, whose environment is made where it is missing.

    Raises:
        UserError: the environment is not to be had.
    """
    if "@" in reader:
        make_environment(read_environment(reader), say)
    return reader


def named_version(library: str, version: str, formats: Container[str]) -> str:
    """The name of a reader in a version: the installed one has none of its own.

    Raises:
        UserError: the library reads no such files, or there is no such environment.
    """
    known = readers_of(formats)
    if library not in known:
        hint = suggest_closest(library, known)
        raise UserError(f"no files are run by {library!r}{hint} (known: {', '.join(known)})")
    here = installed_version(library).partition("+")[0]  # of a build for one kind of machine
    if not version or f"{here}.".startswith(f"{version}."):
        return library
    read_environment(f"{library}@{version}")
    return f"{library}@{version}"


def file_options_of(library: str) -> list[str]:
    """Every option of a library by which it runs files."""
    return [o for o in plugin_of(library).all_options() if reads_given_files(f"{library}:{o}")]


def installed_version(library: str) -> str:
    """A library's own version, in its environment or here; nothing where it is not installed."""
    return versions_of(library).get(plugin_of(library).packages[0], "")


def package_versions(library: str) -> dict[str, str]:
    """The packages of a library's environment; of the installed one those that it names."""
    return read_environment(library).versions if "@" in library else versions_of(library)


def title_of(library: str) -> str:
    """A library with its full version."""
    return f"{plugin_of(library).name} {installed_version(library)}"
