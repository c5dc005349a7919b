"""A point of a sweep in a real project of two stages that start no Python, and its cache."""

from dataclasses import replace

import pytest
from dvc.repo import Repo
from workspace import commit, run

from asterism.core.files.artifacts import read_json
from asterism.sweep.executors import Shards
from asterism.sweep.launch import plan_points
from asterism.sweep.point import KEPT, run_point
from asterism.sweep.points import Point
from asterism.sweep.worker import Sweep, SweepRequest

DVC_YAML = """\
stages:
  first:
    cmd: mkdir -p artifacts/first && grep seed params.yaml > artifacts/first/it
    params: [seed]
    outs: [artifacts/first]
  second:
    cmd: mkdir -p metrics && sed 's/.*. //' artifacts/first/it > metrics/second.json
    deps: [artifacts/first]
    params: [k]
    metrics: [metrics/second.json]
"""


def parameters(seed, k):
    return f"seed: {seed}\nk: {k}\n"


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Of a project of which no stage has run."""
    root = tmp_path_factory.mktemp("project")
    run(root, "git", "init", "-q", "-b", "main")
    Repo.init(str(root)).close()
    run(root, "git", "config", "user.name", "test")
    run(root, "git", "config", "user.email", "test@localhost")
    (root / "dvc.yaml").write_text(DVC_YAML)
    (root / "params.yaml").write_text(parameters(0, 0))
    (root / ".gitignore").write_text("artifacts\nmetrics\nsweeps\n")
    commit(root, "start")
    revision = run(root, "git", "rev-parse", "HEAD").strip()
    return Sweep(
        "s", root, revision, root / ".dvc/cache", SweepRequest(objective="second:"), Shards()
    )


@pytest.fixture(scope="module")
def finished(sweep):
    """Its first point, which has run: the value of its objective, and its record."""
    value = run_point(sweep, Point(0, ("seed=3", "k=1"), parameters(3, 1)))
    return value, read_json(sweep.point_folder(0) / "record.json")


def planned(sweep, *compositions):
    points = [Point(number, (), text) for number, text in enumerate(compositions)]
    return [(sorted(plan["runs"]), plan["cached"]) for plan in plan_points(sweep, points)]


def test_a_point_leaves_its_record_and_its_experiment(sweep, finished):
    value, record = finished
    assert value == 3
    facts = {key: record[key] for key in ("number", "status", "exit_code", "message", "ran")}
    assert facts == {
        **{"number": 0, "status": "finished", "exit_code": 0, "message": ""},
        "ran": ["first", "second"],
    }
    assert record["metrics"] == {"second:": 3}
    listed = run(sweep.project, "git", "for-each-ref", "--format=%(refname)", "refs/exps")
    (reference,) = [name for name in listed.split() if name.endswith(record["experiment"])]
    assert run(sweep.project, "git", "show", f"{reference}:params.yaml") == parameters(3, 1)
    locked = run(sweep.project, "git", "show", f"{reference}:dvc.lock")
    assert "first:" in locked and "second:" in locked
    assert not sweep.workspace(Point(0, (), parameters(3, 1))).exists()


def test_what_another_point_has_computed_is_taken_from_the_cache(sweep, finished):
    """By what a stage depends on: a stage below one that runs may have to run as well."""
    assert planned(sweep, parameters(3, 1), parameters(3, 2), parameters(4, 1)) == [
        ([], 2),
        (["second"], 1),
        (["first", "second"], 0),
    ]


def test_a_point_keeps_the_files_that_the_sweep_wants(sweep, finished):
    request = replace(sweep.request, kept=("metrics/*.json", "nothing/*.csv"))
    wanting = replace(sweep, name="w", request=request)
    stale = wanting.point_folder(0) / KEPT / "metrics/old.json"
    stale.parent.mkdir(parents=True)
    stale.touch()
    run_point(wanting, Point(0, ("seed=3", "k=1"), parameters(3, 1)))
    kept = wanting.point_folder(0) / KEPT
    assert [str(path.relative_to(kept)) for path in kept.rglob("*.*")] == ["metrics/second.json"]
    assert not (sweep.point_folder(0) / KEPT).exists()


def test_a_point_runs_only_what_no_other_has_computed(sweep, finished):
    assert run_point(sweep, Point(1, ("seed=3", "k=2"), parameters(3, 2))) == 3
    assert read_json(sweep.point_folder(1) / "record.json")["ran"] == ["second"]
    assert planned(sweep, parameters(3, 2)) == [([], 2)]
