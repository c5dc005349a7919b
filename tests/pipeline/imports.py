"""Which packages of Asterism a script uses, read from its source and followed to the end.

Some packages, as ``core``, only put into order what they hold: what stages depend on, and what
layers consist of, are the packages and the single modules in them.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
ASTERISM = SOURCE / "asterism"

#: Packages that only put into order what they hold.
ORDERING = frozenset({"core", "deepstellar", "differential", "memo", "models", "report"})

#: A name given as a string, which is looked up later: ``asterism.images:MUTATORS``.
NAMED = re.compile(r"(asterism(?:\.\w+)+):\w+(?:\.\w+)*")


@dataclass(frozen=True)
class Facts:
    """What a source says of modules, at any depth, and its public classes.

    Attributes:
        imported: modules that it imports, and what it imports from them, as ``module.name``.
        by_text: modules that it imports by ``import_module`` of a text.
        named: the modules of its strings of the form ``package.module:NAME``.
        classes: names of its public classes.
    """

    imported: frozenset[str]
    by_text: frozenset[str]
    named: frozenset[str]
    classes: tuple[str, ...]


@cache
def facts(source: str) -> Facts:
    """The facts of a source, whose tree is walked once for all who ask."""
    imported, by_text, named, tree = set[str](), set[str](), set[str](), ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call) and node.args:
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("import_module", "__import__") and isinstance(node.args[0], ast.Constant):
                by_text.add(str(node.args[0].value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named |= {found[1] for found in [NAMED.fullmatch(node.value)] if found}
    public = (node.name for node in tree.body if isinstance(node, ast.ClassDef))
    classes = tuple(name for name in public if not name.startswith("_"))
    return Facts(frozenset(imported), frozenset(by_text), frozenset(named), classes)


@cache
def facts_of(file: Path) -> Facts:
    """The facts of a source file."""
    return facts(file.read_text(encoding="utf-8"))


@cache
def imported_by(file: Path) -> frozenset[Path]:
    """Source files of Asterism that a file imports itself, inside functions too."""
    return frozenset().union(*map(_files, facts_of(file).imported))


@cache
def named_by(file: Path) -> frozenset[Path]:
    """Source files of Asterism that a file names in strings, as ``package.module:NAME``.

    They are imported where parameters are composed, and not where a stage runs. So layers count
    them, and the dependencies of stages do not.
    """
    return frozenset().union(*map(_files, facts_of(file).named))


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
    return "/".join(names[: 2 if names[0] in ORDERING else 1])


def _files(name: str) -> set[Path]:
    if name.partition(".")[0] != "asterism":
        return set()
    path = SOURCE.joinpath(*name.split("."))
    return {file for file in (path / "__init__.py", path.with_suffix(".py")) if file.exists()}


@cache
def _discovered(file: Path) -> frozenset[Path]:
    source, found = file.read_text(encoding="utf-8"), set[Path]()
    if "Registry" not in source:
        return frozenset()
    for node in ast.walk(ast.parse(source)):
        is_registry = isinstance(node, ast.Call) and "Registry" in ast.unparse(node.func)
        if is_registry and len(node.args) >= 2 and isinstance(node.args[1], ast.Constant):
            package = SOURCE.joinpath(*str(node.args[1].value).split("."))
            found |= {*package.glob("*.py"), *package.glob("*/__init__.py")}
    return frozenset(found)
