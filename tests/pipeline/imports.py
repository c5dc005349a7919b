"""Which packages of Asterism a script uses, read from its source and followed to the end.

A package that holds nothing but packages, as ``libraries`` does, only puts them into order:
what stages depend on, and what layers consist of, are the packages that it holds.
"""

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
ASTERISM = SOURCE / "asterism"

#: A name given as a string, which is looked up later: ``asterism.images.mutator:MUTATORS``.
NAMED = re.compile(r"(asterism(?:\.\w+)+):\w+(?:\.\w+)*")


@cache
def imported_by(file: Path) -> frozenset[Path]:
    """Source files of Asterism that a file imports itself, inside functions too."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            found |= _files(name)
    return frozenset(found)


@cache
def named_by(file: Path) -> frozenset[Path]:
    """Source files of Asterism that a file names in strings, as ``package.module:NAME``.

    They are imported where parameters are composed, and not where a stage runs. So layers count
    them, and the dependencies of stages do not.
    """
    found: set[Path] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and (named := NAMED.fullmatch(text)):
            found |= _files(named.group(1))
    return frozenset(found)


@cache
def used_by(script: Path) -> frozenset[Path]:
    """Source files of Asterism that a script uses, directly or through others.

    A package with a registry imports its modules by itself, so all of a used registry's
    package counts as used.
    """
    used: set[Path] = set()
    open_ends = [script]
    while open_ends:
        file = open_ends.pop()
        reached = imported_by(file) | _discovered(file)
        open_ends += reached - used
        used |= reached
    return frozenset(used)


def packages_used_by(script: Path) -> set[str]:
    """Packages of ``src/asterism``, and modules that lie in none, as paths."""
    return {f"src/asterism/{package}" for package in packages_of(used_by(script))}


def packages_of(files: Iterable[Path]) -> set[str]:
    """Packages that files of Asterism lie in, and names of those that lie in none.

    What says no more than that a folder is a package belongs to none.
    """
    return {path for path in map(_package_of, files) if not path.endswith("__init__.py")}


def _package_of(file: Path) -> str:
    names = file.relative_to(ASTERISM).parts
    depth = 1
    while _holds_packages_alone(ASTERISM.joinpath(*names[:depth])):
        depth += 1
    return "/".join(names[:depth])


@cache
def _holds_packages_alone(path: Path) -> bool:
    packages = list(path.glob("*/__init__.py"))
    return bool(packages) and [m.name for m in path.glob("*.py")] == ["__init__.py"]


def _files(name: str) -> set[Path]:
    if name.partition(".")[0] != "asterism":
        return set()
    path = SOURCE.joinpath(*name.split("."))
    if path.is_dir():
        return {path / "__init__.py"}
    return {path.with_suffix(".py")} if path.with_suffix(".py").exists() else set()


@cache
def _discovered(file: Path) -> frozenset[Path]:
    found: set[Path] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        is_registry = isinstance(node, ast.Call) and "Registry" in ast.unparse(node.func)
        if is_registry and len(node.args) >= 2 and isinstance(node.args[1], ast.Constant):
            package = SOURCE.joinpath(*str(node.args[1].value).split("."))
            found |= {*package.glob("*.py"), *package.glob("*/__init__.py")}
    return frozenset(found)
