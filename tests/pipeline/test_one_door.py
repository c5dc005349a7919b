"""DVC and Hydra are imported by one package, and nothing of theirs comes out of it by name."""

import ast

import pytest
from imports import ASTERISM, ROOT

DOOR = ASTERISM / "dvc_hydra"

#: What nobody else imports: DVC's packages, and all of Hydra.
BEHIND = {"dvc", "dvc_data", "dvc_objects", "dvc_render", "dvc_task", "scmrepo", "hydra"}

SOURCES = [
    file
    for folder in ("src", "stages", "benchmarks", "docs")
    for file in sorted((ROOT / folder).rglob("*.py"))
    if DOOR not in file.parents
]


def imported(source):
    """Names of all modules that a source imports, at any depth, by a text too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif isinstance(node, ast.Call) and node.args:
            called = ast.unparse(node.func).rpartition(".")[2]
            if called in ("import_module", "__import__") and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def behind_the_door(source):
    return [name for name in imported(source) if name.partition(".")[0] in BEHIND]


def test_nothing_else_imports_dvc_or_hydra():
    assert len(SOURCES) > 300
    found = {
        str(file.relative_to(ROOT)): names
        for file in SOURCES
        if (names := behind_the_door(file.read_text(encoding="utf-8")))
    }
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        "import dvc.api",
        "import os, hydra",
        "from dvc_data.hashfile import load",
        "def f():\n    from hydra._internal.utils import x",
        "import importlib\nimportlib.import_module('dvc.repo')",
        "__import__('dvc_objects')",
    ],
)
def test_an_import_is_found_in_every_form(source):
    assert behind_the_door(source)


def test_what_is_imported_of_dvc_is_its_commands_and_its_repository():
    """The whole list: what ``docs/decisions/private-parts.md`` gives the reasons for."""
    found = {
        f"{node.module}.{alias.name}"
        for file in DOOR.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0].startswith("dvc")
        for alias in node.names
    }
    assert found == {"dvc.cli.main", "dvc.repo.Repo"}
