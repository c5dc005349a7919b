"""Plug-ins that are chosen by name: what they share lies outside of their packages."""

import pytest
from imports import SOURCE, imported_by

#: Packages of nothing but plug-ins.
PACKAGES = (
    "attacks/methods",
    "compression/methods",
    "criteria/families",
    "data/sources",
    "dflare/fitness",
    "dflare/repairers",
    "dflare/searches",
    "differential/backends",
    "differential/adapters/converters",
    "memo/generating/operators",
    "memo/generating/strategies",
    "memo/graphs/weight_edits",
    "differential/reducing/seed_models",
    "memo/universe/layers",
    "models/architectures",
    "reproduction/rules",
)


@pytest.mark.parametrize("name", PACKAGES)
def test_nothing_outside_imports_a_plugin(name):
    package = SOURCE / "asterism" / name
    plugins = set(package.glob("*.py")) - {package / "__init__.py"}
    assert plugins
    others = set(SOURCE.rglob("*.py")) - set(package.rglob("*.py"))
    assert {str(file): used for file in others if (used := imported_by(file) & plugins)} == {}
