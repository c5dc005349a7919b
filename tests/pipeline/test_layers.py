"""The source has layers: no packages import each other, and neither do modules."""

import networkx as nx
from imports import ASTERISM, imported_by, named_by, packages_of

FILES = [file for file in ASTERISM.rglob("*.py") if file.name != "__main__.py"]


def circles(edges):
    """What imports each other, directly or through others."""
    graph = nx.DiGraph((user, used) for user, used in edges if user != used)
    return [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1]


def test_no_packages_import_each_other():
    """A name in a string, as ``package.module:NAME``, counts: it is imported when it is used."""
    assert not circles(
        (package, used)
        for file in FILES
        for package in packages_of([file])
        for used in packages_of(imported_by(file) | named_by(file))
    )


def test_no_modules_import_each_other():
    assert not circles(
        (file, used)
        for file in FILES
        for used in imported_by(file) - {folder / "__init__.py" for folder in file.parents}
    )


def test_the_core_is_below_all_others():
    for file in FILES:
        if "core" in file.relative_to(ASTERISM).parts:
            used = packages_of(imported_by(file) | named_by(file))
            assert all(package.startswith("core/") for package in used), file


def test_names_in_strings_are_found():
    found = named_by(ASTERISM / "deepstellar/parameters/params.py")
    assert ASTERISM / "deepstellar/parameters/mutators.py" in found
    found = named_by(ASTERISM / "dflare/params.py")
    assert ASTERISM / "dflare/searches/__init__.py" in found
