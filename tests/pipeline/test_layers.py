"""What imports what: layers without circles, one package for DVC and Hydra, plug-ins; and names."""

import re
import sys
from collections import Counter

import networkx as nx
import pytest
from imports import ASTERISM, COLLECTION, ROOT, facts_of, imported_by, named_by, packages_of

sys.path.append(str(ROOT / "docs"))

from update_dag import graph, with_graph

FILES = [file for file in ASTERISM.rglob("*.py") if file.name != "__main__.py"]
#: With those of the package that keeps the collection of findings.
ALL_FILES = [*FILES, *COLLECTION.rglob("*.py")]


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
        for file in ALL_FILES
        for used in imported_by(file) - {folder / "__init__.py" for folder in file.parents}
    )


@pytest.mark.parametrize(("folder", "indent"), [(ASTERISM, 6), (ASTERISM / "core", 8)])
def test_the_map_of_the_docs_goes_from_the_lowest_layer_up(folder, indent):
    page = (ROOT / "docs/pipeline.md").read_text(encoding="utf-8")
    shown = page.partition("src/asterism/ ")[2].partition("\n\n")[0]
    lines = re.findall(rf"^ {{{indent}}}(\w.*?)(?:  .*| judging .*)?$", shown, re.MULTILINE)
    names = [name.strip("/") for line in lines for name in line.split(", ")]
    climbing = set()
    for file in folder.rglob("*.py"):
        user = file.relative_to(folder).parts[0]
        for used in {
            f.relative_to(folder).parts[0] for f in imported_by(file) if folder in f.parents
        }:
            is_known = user in names and used in names
            if is_known and file.name != "__main__.py" and names.index(used) > names.index(user):
                climbing.add((user, used))
    assert len(names) > 10 and not climbing


def test_the_core_is_below_all_others():
    for file in FILES:
        if "core" in file.relative_to(ASTERISM).parts:
            used = packages_of(imported_by(file) | named_by(file))
            assert all(package.startswith("core/") for package in used), file


#: The package that imports DVC and Hydra; nothing of theirs comes out of it by name.
DOOR = ASTERISM / "dvc_hydra"
#: What nobody else imports: DVC's packages, and all of Hydra.
BEHIND = {"dvc", "dvc_data", "dvc_objects", "dvc_render", "dvc_task", "scmrepo", "hydra"}


def behind_the_door(found):
    return {name for name in found.imported | found.by_text if name.partition(".")[0] in BEHIND}


def test_nothing_but_one_package_imports_dvc_or_hydra():
    folders = [ROOT / name for name in ("src", "stages", "benchmarks", "docs", "findings")]
    sources = [f for folder in folders for f in folder.rglob("*.py") if DOOR not in f.parents]
    assert len(sources) > 300
    found = {file: names for file in sources if (names := behind_the_door(facts_of(file)))}
    assert not found


def test_what_is_imported_of_dvc_is_its_commands_and_its_repository():
    """The whole list: what ``docs/decisions/private-parts.md`` gives the reasons for."""
    imported = set().union(*(facts_of(file).imported for file in DOOR.glob("*.py")))
    of_dvc = {name for name in imported if name.startswith("dvc")}
    assert of_dvc - {"dvc.cli", "dvc.repo"} == {"dvc.cli.main", "dvc.repo.Repo"}


def test_no_two_public_classes_have_one_name():
    """So that a name met anywhere means one thing; every stage has a section ``Params``."""
    names = Counter(name for file in ALL_FILES for name in facts_of(file).classes)
    assert {name for name, count in names.items() if count > 1} <= {"Params"}


#: Packages of nothing but plug-ins.
PACKAGES = (
    "attacks/methods",
    "compression/methods",
    "criteria/families",
    "data/sources",
    "dflare/repairers",
    "dflare/searches",
    "differential/backends",
    "differential/converters",
    "memo/generating/operators",
    "memo/generating/strategies",
    "differential/reducing/seed_models",
    "memo/universe/layers",
    "models/architectures",
    "reproduction/rules",
)


@pytest.mark.parametrize("name", PACKAGES)
def test_nothing_outside_imports_a_plugin(name):
    package = ASTERISM / name
    plugins = set(package.glob("*.py")) - {package / "__init__.py"}
    assert plugins
    others = set(ASTERISM.rglob("*.py")) - set(package.rglob("*.py"))
    assert {str(file): used for file in others if (used := imported_by(file) & plugins)} == {}


def test_the_graph_is_current():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == with_graph(text, graph()), "run `make dag`"


def test_the_map_of_the_source_names_every_package():
    page = (ROOT / "docs/pipeline.md").read_text(encoding="utf-8")
    shown = page.partition("src/asterism/ ")[2].partition("\n\n")[0]
    for path in ASTERISM.iterdir():
        if path.is_dir() and (path / "__init__.py").is_file():
            assert re.search(rf"\b{path.name}/", shown), path.name
        elif path.suffix == ".py" and path.stem != "__init__":
            assert path.name in shown, path.name


def test_the_index_of_decisions_lists_every_page():
    index = (ROOT / "docs/decisions/README.md").read_text(encoding="utf-8")
    pages = sorted(ROOT.glob("docs/decisions/[a-z]*.md"))
    assert [page.name for page in pages] == sorted(re.findall(r"\]\(([a-z-]+\.md)\)", index))
