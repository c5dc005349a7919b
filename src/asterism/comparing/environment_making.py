"""Making and removing environments that hold other versions of libraries.

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
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from asterism.core.files.folders import make_private_folder
from asterism.core.files.locks import hold_lock
from asterism.core.files.temporary import scratch_beside
from asterism.core.messages.errors import UserError
from asterism.core.resuming import saved_folders
from asterism.differential.adapters.environments import (
    Environment,
    environments_root,
    installed_packages,
)

#: What an environment's Python says of itself.
_VERSION = "import json, sys; print(json.dumps(sys.version_info[:2]))"

#: Lines of an installer's output that a message quotes.
_LINES = 3

#: Told what making an environment costs.
Say = Callable[[str], None]


def make_environment(wanted: Environment, say: Say) -> None:
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


def remove_environment(unwanted: Environment, say: Say) -> None:
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
