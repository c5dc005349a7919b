"""The layers of the source: a package imports from lower layers only."""

import pytest
from imports import SOURCE, imported_by

ASTERISM = SOURCE / "asterism"

#: From the lowest up; packages side by side know nothing of each other.
LAYERS = [
    ["core"],
    ["data", "hydra_messages", "images", "search"],
    ["models"],
    ["attacks", "compression", "criteria", "deepstellar", "dflare", "memo"],
    ["deepimportance", "libraries"],
    ["config", "report"],
    ["sweep"],
    ["cli"],
]
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}


def package_of(file):
    return file.relative_to(ASTERISM).parts[0].removesuffix(".py")


def test_every_package_has_its_layer():
    there = {
        p.stem for p in ASTERISM.iterdir() if not p.name.startswith("_") and p.suffix != ".typed"
    }
    assert there == set(LEVELS)


@pytest.mark.parametrize("package", sorted(LEVELS))
def test_imports_lead_downwards(package):
    path = ASTERISM / package
    for file in path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]:
        if file.name == "__main__.py":
            continue  # a program: it starts at the top
        for used in map(package_of, imported_by(file)):
            if used not in (package, "__init__"):
                assert LEVELS[used] < LEVELS[package], f"{file} imports from {used}"
