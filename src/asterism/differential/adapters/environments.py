"""Environments of their own for libraries: which there are, and where they lie when they are made.

``conf/environment/NAME@VERSION.yaml`` says what is installed, with every package pinned. A backend
``onnxruntime@1.20:tf2onnx`` runs in the environment of that name, beside the installed version.
With ``over_installed: true`` it lies over the project's own packages, and has those that differ.
"""

from __future__ import annotations

import hashlib
import json
import re
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import asterism
from asterism.core.files.folders import make_private_folder, require_private
from asterism.core.files.records import record_from
from asterism.core.messages.errors import UserError, name_file_in_errors
from asterism.core.settings import machine
from asterism.core.settings.yaml_files import read_yaml
from asterism.core.workers.starting import OWN_INTERPRETER, Interpreter
from asterism.differential.adapters.backend_names import plugin_of, product_of
from asterism.differential.adapters.library import CONVERTERS, LIBRARIES

FOLDER = Path("conf/environment")

#: Names of environments: they become names of files and folders.
_NAME = re.compile(r"[a-z0-9_]+@[0-9][0-9a-z.]*")
#: A requirement with its version: ``numpy==1.26.4``. No options, no files, no addresses.
_PINNED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[a-z,]+\])?==[A-Za-z0-9.!+]+")


@dataclass(frozen=True)
class Environment:
    """An environment, as its file defines it.

    Args:
        name: library and version: ``onnxruntime@1.20``.
        python: version of Python, as ``3.11``; one that is over the installed packages has theirs.
        download_mb: what its packages take to download, measured when the file was written.
        disk_mb: what it takes on the disk, likewise.
        requirements: every package with its version, those that packages need too.
        over_installed: whether all other packages are those that are installed here: then
            ``requirements`` lists what differs, and the rest needs no download.
    """

    name: str
    python: str
    download_mb: int
    disk_mb: int
    requirements: tuple[str, ...]
    over_installed: bool = False

    @property
    def folder(self) -> Path:
        """The folder of the environment; a changed definition gives another folder."""
        below = [str(installed_packages())] if self.over_installed else []
        facts = json.dumps([self.python, *self.requirements, *below])
        digest = hashlib.sha256(facts.encode()).hexdigest()[:12]
        return environments_root() / f"{self.name}-{digest}"

    @property
    def executable(self) -> Path:
        """The path of the environment's Python."""
        return self.folder / "bin/python"

    @property
    def is_made(self) -> bool:
        """Whether the environment exists; it is moved into place when it is complete."""
        return self.executable.exists()

    @property
    def versions(self) -> dict[str, str]:
        """The version of each package that the environment has of its own."""
        pairs = (requirement.split("==") for requirement in self.requirements)
        return {re.sub(r"\[.*", "", name): version for name, version in pairs}

    def version_of(self, package: str) -> str:
        """The version of a package in the environment; empty if the environment has none."""
        return self.versions.get(package) or (version_of(package) if self.over_installed else "")

    @property
    def cost(self) -> str:
        """What making the environment costs, in words."""
        return f"about {self.download_mb:,} MB to download and {self.disk_mb:,} MB of disk"

    def interpreter(self) -> Interpreter:
        """The environment's Python, with this checkout's source.

        Nothing else that is installed here is found, unless the environment lies over it.

        Raises:
            UserError: it is not made, or others can write to it.
        """
        if not self.is_made:
            raise UserError(
                f"the environment {self.name} is not made: run "
                f"`asterism environments {self.name} --make` ({self.cost})"
            )
        require_private(self.executable.parent)
        return Interpreter(str(self.executable), str(_source_alone()))


def environments_root() -> Path:
    """The folder that contains all environments."""
    return machine.programs_root() / "environments"


def environment_names(folder: Path = FOLDER) -> list[str]:
    """Names of the environments that have a file, earlier versions of a library first."""
    return sorted((path.stem for path in folder.glob("*@*.yaml")), key=version_sort_key)


def version_sort_key(name: str) -> tuple[str, list[int]]:
    """A key that sorts environments by library and version, so that 3.8 comes before 3.12."""
    library, _, release = name.partition("@")
    return library, [int(number) for number in re.findall(r"[0-9]+", release)]


def read_environment(name: str, folder: Path = FOLDER) -> Environment:
    """The environment of that name.

    Raises:
        UserError: it has no file, or the file is wrong.
    """
    path = folder / f"{_filed(name, folder)}.yaml"
    if not _NAME.fullmatch(name) or not path.exists():
        known = ", ".join(environment_names(folder)) or "none"
        raise UserError(
            f"there is no environment {name!r} (known: {known}): write {folder}/{name}.yaml "
            "like the files there; docs/versions.md, Environments, says what it holds"
        )
    with name_file_in_errors(path):
        stated = read_yaml(path)
        named = {**stated, "name": path.stem} if isinstance(stated, dict) else stated
        found = record_from(Environment, named)
        for requirement in found.requirements:
            if not _PINNED.fullmatch(requirement):
                raise UserError(f"{requirement!r} is no package with its version: NAME==VERSION")
        if not re.fullmatch(r"3\.[0-9]{1,2}", found.python):
            raise UserError(f"python is {found.python!r}: it should be like 3.11")
    return found


def _filed(name: str, folder: Path) -> str:
    """The name of an environment's file; without one of its own, that of its package's library.

    ``pytorch_program@2.12``, which runs programs in PyTorch, has that of ``pytorch@2.12``.
    """
    if (folder / f"{name}.yaml").exists():
        return name
    library, _, release = name.partition("@")
    kin = (
        known
        for known in environment_names(folder)
        if known.partition("@")[2] == release
        and package_of(product_of(known)) == package_of(library)
    )
    return next(kin, name)


def interpreter_of(library: str) -> Interpreter:
    """The Python that a library's workers run in: this one, or that of its environment.

    Raises:
        UserError: its environment does not exist, or is not made.
    """
    return read_environment(library).interpreter() if "@" in library else OWN_INTERPRETER


def versions_of(library: str) -> dict[str, str]:
    """Version of each package that a library names and that is in its environment, or here.

    Raises:
        UserError: its environment does not exist.
    """
    there = read_environment(library).version_of if "@" in library else version_of
    return {package: found for package in plugin_of(library).packages if (found := there(package))}


def installed_packages() -> Path:
    """The folder of the packages that are installed here."""
    return Path(sysconfig.get_path("purelib"))


def _source_alone() -> Path:
    """A folder that holds a link to the package and nothing else.

    The package may be installed beside others, which must not be found by another environment.
    """
    package = Path(asterism.__file__).resolve().parent
    digest = hashlib.sha256(str(package).encode()).hexdigest()[:12]
    link = make_private_folder(environments_root() / f"source-{digest}") / "asterism"
    with suppress(FileExistsError):  # another process or command was faster
        link.symlink_to(package, target_is_directory=True)
    return link.parent


def installed_versions(*names: str) -> dict[str, str]:
    """Version of each distribution that libraries and converters name; nothing is imported.

    Args:
        names: the names of the libraries and converters; none for all of them.
    """
    wanted = names or (*LIBRARIES, *CONVERTERS)
    plugins = [LIBRARIES[name] if name in LIBRARIES else CONVERTERS[name] for name in wanted]
    packages = {package for plugin in plugins for package in plugin.packages}
    return {package: version_of(package) or "not installed" for package in sorted(packages)}


def package_of(library: str) -> str:
    """The package that is a library or converter; the others that it needs stand behind it."""
    plugins = LIBRARIES if library in LIBRARIES else CONVERTERS
    return plugins[library].packages[0] if library in plugins else library


def version_of(package: str) -> str:
    """The version of a package that is installed here; nothing where it is not."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(package)
    return ""
