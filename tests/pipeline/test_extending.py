"""Every example of ``docs/extending.md``: found, tested by the tables, and run in its stage."""

import os
import re
import sys
import xml.etree.ElementTree as ET

import pytest
from extending_page import examples, rows
from imports import SOURCE
from workspace import COMMAND, ENVIRONMENT, commit, copy_tree, ended, run

EXAMPLES = examples()
KINDS = [example.kind for example in EXAMPLES]

#: A small run of every stage.
TINY = [
    "data.train=400",
    "data.test=200",
    "rnn.units=[24]",
    "rnn.training.epochs=6",
    "seeds.per_class=2",
    "fuzz.mutants=1500",
    "fuzz.parents=8",
    "coverage.references=5",
    "classifier=lenet1",
    "classifier.training.epochs=4",
    "compression.pruned.options.tuning.epochs=1",
    "trigger.seeds=8",
    "trigger.queries=60",
    "trigger.minimise_queries=0",
    "trigger.searches.diffchaser.options.population=10",
    "repair.folds=2",
    "repair.repeats=1",
    "attack.inputs=4",
    "attack.options.carlini_wagner.iterations=10",
    "attack.options.carlini_wagner.binary_search_steps=1",
    "reduce.models=[lenet5]",
    "generate.models=150",
    "generate.executed=2",
    "generate.compared=[]",
]
#: Kinds whose plug-ins the tests' tables list by hand, as the page says.
LISTED_BY_HAND = ("Model format", "Domain", "Comparison")
#: How pytest runs inside of a test.
PLAINLY = ("-p", "no:cacheprovider", "-p", "no:xdist")


def small(example):
    """Small settings, but for those of groups that the example exchanges, and its own."""
    exchanged = {word.split("=")[0] for word in example.overrides}
    return [*(o for o in TINY if o.split(".")[0] not in exchanged), *example.overrides]


def put(project, example):
    for path, text in example.files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        assert not (project / path).exists(), f"{path} is there without the example"
        (project / path).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the project with all examples, whose ``params.yaml`` has their options."""
    project = tmp_path_factory.mktemp("extended") / "project"
    copy_tree(project)
    for example in EXAMPLES:
        put(project, example)
    settings = [o for e in EXAMPLES for o in e.overrides if o.startswith("+")]
    run(project, *COMMAND, "params", *settings)
    return project


@pytest.fixture(scope="module")
def tested(extended):
    """Outcomes of the tests that the page names, in the copy: file, name and whether it passed."""
    files = sorted({file for example in EXAMPLES for file in example.tests})
    wanted = " or ".join(sorted({example.registered[1] for example in EXAMPLES}))
    environment = ENVIRONMENT | {"PYTHONPATH": f"{extended}/src{os.pathsep}{extended}/tests"}
    command = [sys.executable, "-m", "pytest", *files, "-k", wanted, "--junitxml=found.xml"]
    _, output = ended(extended, *command, *PLAINLY, environment=environment)
    assert (extended / "found.xml").exists(), output
    cases = ET.parse(extended / "found.xml").iter("testcase")
    return [
        (case.get("classname").replace(".", "/") + ".py", case.get("name"), len(case) == 0)
        for case in cases
    ], output


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=KINDS)
def test_an_example_passes_the_tests_that_pick_it_up(tested, example):
    cases, output = tested
    name = example.registered[1]
    own = [case for case in cases if name in case[1]]
    assert [case for case in own if not case[2]] == [], output[-4000:]
    if example.kind not in LISTED_BY_HAND:
        assert {file for file, _, _ in own} >= set(example.tests), output[-2000:]


#: A registry in the source: its variable and the package that holds its plug-ins.
REGISTRY = re.compile(r'^(\w+): Registry\[.+\] = Registry\(\s*"[^"]+",\s*"([\w.]+)"', re.MULTILINE)


def registries():
    """Where the registry of each package of plug-ins is, as ``module:VARIABLE``."""
    found = {}
    for file in SOURCE.rglob("*.py"):
        module = ".".join(file.relative_to(SOURCE).with_suffix("").parts)
        for variable, package in REGISTRY.findall(file.read_text(encoding="utf-8")):
            found[package] = f"{module.removesuffix('.__init__')}:{variable}"
    return found


def package_of(example):
    return ".".join(example.module.split("/")[1:-1])


def test_the_table_names_every_example_with_its_folder_and_registry():
    wanted = [
        (f"[{e.kind.lower()}](#{e.kind.lower().replace(' ', '-')})")
        + f" in `{e.module.rpartition('/')[0]}/` by `{e.registered[0]}`"
        for e in EXAMPLES
    ]
    assert [f"{kind} in {where} by {registry}" for kind, where, registry in rows()] == wanted
    found = registries()
    for example in EXAMPLES:
        assert found[package_of(example)].endswith(f":{example.registered[0]}")


def test_examples_use_no_undefined_names_not_even_in_annotations(tmp_path):
    for example in EXAMPLES:
        put(tmp_path, example)
    run(tmp_path, "ruff", "check", "--isolated", "--select=F821", ".")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache for all projects of this file: what no example changes is computed once."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=KINDS)
def test_an_example_runs_in_its_stage(example, cache, tmp_path):
    """In a copy that has no other example."""
    project = tmp_path / "project"
    copy_tree(project)
    put(project, example)
    run(project, "git", "init", "-q", "-b", "main")
    run(project, "dvc", "config", "--local", "cache.dir", cache)
    commit(project, "extended")
    for command in example.commands:
        if command[:2] == ["asterism", "params"]:
            continue  # with the small settings, below
        if command[:2] == ["asterism", "repro"]:
            run(project, *COMMAND, "params", *small(example))
        if command[0] == "asterism":
            run(project, *COMMAND, *command[1:])
        else:
            run(project, *command)
    path, word = example.results
    assert word in (project / path).read_text(encoding="utf-8")
