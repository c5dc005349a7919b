"""Python, the packages that Asterism needs, and the libraries under test."""

from __future__ import annotations

import re
import shutil
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from asterism.core.messages.escaping import list_first
from asterism.differential.adapters.environments import installed_versions
from asterism.doctor import Check, Status

#: Pinned versions: of the checkout, or of the packages that made the project's results.
LOCK = Path("requirements.lock")

#: Packages that are named at most.
_MOST_NAMED = 5

_PINNED = re.compile(r"^([A-Za-z0-9_.-]+)==([^\s;]+)", re.MULTILINE)


def check_python() -> Check:
    """Whether this is a Python that Asterism runs on."""
    found = f"{sys.version.split()[0]} at {sys.executable}"
    needed = metadata.metadata("asterism")["Requires-Python"]
    if sys.version.split()[0] in SpecifierSet(needed or "", prereleases=True):
        return Check("Python", "ok", found)
    return Check("Python", "error", found, f"make an environment with Python {needed}")


def check_requirements() -> Check:
    """Whether the packages are there without which no command runs, in versions that fit."""
    wrong = []
    for text in metadata.requires("asterism") or []:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        version = _version(requirement.name)
        if version is None:
            wrong.append(f"{requirement.name} is not installed")
        elif not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} {version} is not {requirement.specifier}")
    if not wrong:
        return Check("packages", "ok", f"asterism {_version('asterism')} has all that it needs")
    repair = "make install" if Path("Makefile").exists() else "pip install --upgrade asterism"
    return Check("packages", "error", list_first(wrong, _MOST_NAMED), f"run `{repair}`")


def check_pinned_versions(lock: Path = LOCK) -> Check:
    """Whether the installed versions are those with which the results were made.

    Args:
        lock: lines ``name==version``; packages of it that are not installed are left out.
    """
    name = "pinned versions"
    if not lock.exists():
        return Check(name, "warning", f"there is no {lock} here", "look in a project's root")
    pins = read_pins(lock)
    installed = {package: _version(package) for package in pins}
    other = [
        f"{package} {version} instead of {pins[package]}"
        for package, version in installed.items()
        if version is not None and not _same(version, pins[package])
    ]
    if other:
        advice = f"results may differ from committed ones; `pip install -r {lock}` restores them"
        return Check(name, "warning", list_first(other, _MOST_NAMED), advice)
    there = sum(version is not None for version in installed.values())
    return Check(name, "ok", f"{there} packages are as {lock} has them")


def check_libraries_under_test(lock: Path = LOCK) -> list[Check]:
    """Each library under test and converter with its version, and those that are not there.

    Nothing is imported.
    """
    pins = read_pins(lock) if lock.exists() else {}
    checks = []
    versions = installed_versions()
    missing = [package for package, version in versions.items() if version == "not installed"]
    for package, version in versions.items():
        wanted = pins.get(canonicalize_name(package))
        if package in missing:
            continue
        if wanted is not None and not _same(version, wanted):
            advice = "findings are of this version; results of the other one are computed anew"
            checks.append(Check(package, "warning", f"{version}, pinned is {wanted}", advice))
        else:
            checks.append(Check(package, "ok", version))
    if missing:
        advice = "only the lane of libraries needs all: `pip install 'asterism[libraries]'`"
        checks.append(Check("not installed", "warning", ", ".join(missing), advice))
    return checks


def check_external_programs() -> list[Check]:
    """Programs of others that commands start."""
    checks = [_program("git", "every project is a git repository", "error")]
    checks.append(_program("make", "only a checkout of the source needs it", "warning"))
    compilers = [name for name in ("g++", "c++", "clang++") if shutil.which(name)]
    if compilers:
        return [*checks, Check("compiler", "ok", f"{compilers[0]}, for torch.compile")]
    advice = "install g++; without one the backend pytorch:compile fails"
    return [*checks, Check("compiler", "warning", "no C++ compiler for torch.compile", advice)]


def _program(name: str, why: str, where_missing: Status) -> Check:
    place = shutil.which(name)
    if place is not None:
        return Check(name, "ok", place)
    return Check(name, where_missing, f"not found ({why})", f"install {name}")


def read_pins(lock: Path) -> dict[str, str]:
    """Version of each package in a file of pinned requirements, by its canonical name."""
    text = lock.read_text(encoding="utf-8")
    return {canonicalize_name(name): version for name, version in _PINNED.findall(text)}


def _same(installed: str, wanted: str) -> bool:
    """Versions are equal; a build's suffix (``+cpu``) says where it is from."""
    return installed.partition("+")[0] == wanted.partition("+")[0]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
