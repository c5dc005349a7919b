"""What DVC offers for experiments, on the small pipeline: overrides, queues, comparisons."""

import json
import subprocess

import pytest
from small_pipeline import Project
from workspace import commit

pytestmark = pytest.mark.slow


def dvc(project, *arguments):
    """The output of a dvc command in a project."""
    where = {"cwd": project.root, "env": project.environment}
    return subprocess.check_output(["dvc", *arguments], text=True, timeout=300, **where)


def metrics(project, *names):
    """Of every experiment, these values of the stage ``left``'s metrics, sorted."""
    shown = json.loads(dvc(project, "exp", "show", "--json"))
    found = []
    for entry in shown[1:]:
        for experiment in entry["experiments"] or []:
            values = experiment["revs"][0]["data"]["metrics"]["metrics/left.json"]["data"]
            found.append(tuple(values[name] for name in names))
    return sorted(found)


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    dvc(made, "repro")
    commit(made.root, "results")
    made.ran()
    return made


def test_an_override_is_an_experiment_that_can_be_compared(project):
    dvc(project, "exp", "run", "-S", "abstraction.k=4", "-n", "four")
    assert project.ran() == ["end", "left"]
    assert metrics(project, "k", "square") == [(4, 16)]
    compared = json.loads(dvc(project, "metrics", "diff", "--json", "HEAD", "four"))
    assert compared["metrics/left.json"]["square"] == {"old": 9, "new": 16, "diff": 7}
    dvc(project, "exp", "run", "-S", "data=mnist", "-n", "other")
    assert project.ran() == []  # k is the default's again, and its results are cached
    assert metrics(project, "k", "square") == [(3, 9), (4, 16)]


def test_a_queue_with_a_range_runs_all_of_it_with_the_projects_facts(project):
    script = project.root / "stages" / "small.py"
    lines = ["from asterism.core.settings import machine", "root = str(machine.data_root())"]
    lines.append("(notes / 'root').write_text(root)")
    script.write_text("\n".join([script.read_text(), *lines, ""]))
    commit(project.root, "a stage that says where its data lie")
    project.environment.pop("ASTERISM_DATA_ROOT", None)
    (project.root / "machine.yaml").write_text("data: {root: sets}\n")
    dvc(project, "exp", "run", "--queue", "-S", "abstraction.k=range(4,6)")
    dvc(project, "exp", "run", "--run-all", "-j", "2")
    assert metrics(project, "k", "square") == [(4, 16), (5, 25)]
    assert (project.notes / "root").read_text() == str(project.root / "sets")
