"""Which packages of Asterism a script uses, read from its source and followed to the end."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"


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


def used_by(script: Path) -> set[Path]:
    """Source files of Asterism that a script uses, directly or through others.

    A package with a registry imports its modules by itself, so all of a used registry's
    package counts as used.
    """
    used: set[Path] = set()
    open_ends = [script]
    while open_ends:
        file = open_ends.pop()
        reached = set(imported_by(file)) | _discovered(file)
        open_ends += reached - used
        used |= reached
    return used


def packages_used_by(script: Path) -> set[str]:
    """Top-level packages of ``src/asterism``, and modules that lie in none, as paths."""
    names = {file.relative_to(SOURCE / "asterism").parts[0] for file in used_by(script)}
    return {f"src/asterism/{name}" for name in names - {"__init__.py"}}


def _files(name: str) -> set[Path]:
    if name.partition(".")[0] != "asterism":
        return set()
    path = SOURCE.joinpath(*name.split("."))
    if path.is_dir():
        return {path / "__init__.py"}
    return {path.with_suffix(".py")} if path.with_suffix(".py").exists() else set()


def _discovered(file: Path) -> set[Path]:
    found: set[Path] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        is_registry = isinstance(node, ast.Call) and "Registry" in ast.unparse(node.func)
        if is_registry and len(node.args) >= 2 and isinstance(node.args[1], ast.Constant):
            package = SOURCE.joinpath(*str(node.args[1].value).split("."))
            found |= set(package.glob("*.py"))
    return found
