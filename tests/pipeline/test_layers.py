"""The layers of the source: a package imports from lower layers only."""

import networkx as nx
import pytest
from imports import ASTERISM, imported_by, named_by, packages_of

#: From the lowest up; packages side by side know nothing of each other.
LAYERS = [
    ["core/messages", "core/randomness", "core/coverage", "core/statistics", "core/workers"],
    ["core/settings"],
    ["core/files", "core/parameters"],
    ["core/drawing", "core/resuming"],
    ["budget.py", "core/running", "data", "dvc_hydra", "search"],
    ["images", "sound", "tensors", "text"],
    ["models/foreign", "models/isolation"],
    ["models/architectures", "models/keras_models", "models/onnx_graphs"],
    ["models/layers", "models/parameters", "models/signatures"],
    ["models/runtimes"],
    ["models/tensor_models"],
    ["models/classifiers"],
    ["models/recurrent"],
    ["models/training"],
    ["attacks", "compression", "criteria", "dflare", "localisation", "memo/universe"],
    ["deepstellar/selections"],
    ["deepstellar/parameters"],
    ["deepstellar/model", "deepstellar/seeding"],
    ["deepstellar/campaigns", "deepstellar/coverage", "deepstellar/export"],
    ["deepstellar/fuzzing", "deepstellar/profiling"],
    ["deepimportance", "memo/graphs", "vetting"],
    ["differential/adapters", "memo/generating", "differential/reducing"],
    ["differential/backends"],
    ["differential/engine"],
    ["differential/oracle"],
    ["differential/triage"],
    ["differential/report"],
    ["config.py", "report/base"],
    ["report/vetted", "report/whole"],
    [
        "report/lanes/compressed",
        "report/lanes/importance",
        "report/lanes/libraries",
        "report/lanes/stateful",
    ],
    ["asking"],
    ["differential/subjects"],
    ["differential/comparing"],
    ["findings"],
    ["sweep"],
    ["judging_tests.py", "project.py", "reproduction"],
    ["api", "doctor"],
    ["cli", "pytest.py"],
]
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}


def test_every_package_has_its_layer():
    assert packages_of(ASTERISM.rglob("*.py")) == set(LEVELS)


@pytest.mark.parametrize("package", sorted(LEVELS))
def test_imports_lead_downwards(package):
    path = ASTERISM / package
    for file in path.rglob("*.py") if path.is_dir() else [path]:
        if file.name == "__main__.py":
            continue  # a program: it starts at the top
        for used in packages_of(imported_by(file) | named_by(file)) - {package}:
            assert LEVELS[used] < LEVELS[package], f"{file} imports from {used}"


def test_what_belongs_to_no_package_imports_nothing():
    alone = [file for file in ASTERISM.rglob("*.py") if not packages_of([file])]
    assert ASTERISM / "__init__.py" in alone
    for file in alone:
        assert not imported_by(file)


def modules_below(file):
    """Modules that a file imports, at any depth, but for its own package."""
    return imported_by(file) - {folder / "__init__.py" for folder in file.parents}


def circles():
    """Groups of modules that import each other, directly or through others."""
    files = list(ASTERISM.rglob("*.py"))
    graph = nx.DiGraph((file, used) for file in files for used in modules_below(file))
    return [
        {str(file.relative_to(ASTERISM)) for file in group}
        for group in nx.strongly_connected_components(graph)
        if len(group) > 1
    ]


def test_no_modules_import_each_other():
    assert circles() == []


def test_names_in_strings_are_found():
    found = named_by(ASTERISM / "deepstellar/parameters/params.py")
    assert ASTERISM / "deepstellar/parameters/mutators.py" in found
    found = named_by(ASTERISM / "dflare/params.py")
    assert ASTERISM / "dflare/searches/__init__.py" in found
