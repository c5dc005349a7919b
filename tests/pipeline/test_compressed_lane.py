"""The compressed lane as users run it: tiny, with DVC, in repositories of its own."""

import json

import pytest
from workspace import copy_project, run

TINY = [
    "data.train=600",
    "data.test=120",
    "classifier.training.epochs=4",
    "compression.dynamic_range.method=onnx_static",
    "+compression.dynamic_range.options.calibration_images=40",
    "pairs.dynamic_range.compressed=artifacts/compress/dynamic_range/model.onnx",
    "trigger.seeds=16",
    "trigger.queries=150",
    "trigger.minimise_queries=10",
    "trigger.searches.diffchaser.options.population=10",
    "repair.folds=3",
    "repair.repeats=2",
]
LANE = ["repair@dynamic_range"]
RESULTS = ["artifacts/trigger/dynamic_range", "artifacts/repair/dynamic_range"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A project in which the lane has run."""
    project = copy_project(tmp_path_factory.mktemp("finished") / "project", TINY)
    run(project, "dvc", "repro", *LANE)
    return project


def files(project):
    paths = [p for folder in RESULTS for p in (project / folder).rglob("*") if p.is_file()]
    metrics = project.glob("metrics/*.json")
    return {p.relative_to(project).as_posix(): p.read_bytes() for p in (*paths, *metrics)}


def metrics(project, name):
    return json.loads((project / "metrics" / f"{name}.json").read_text())


def test_searching_and_repairing_again_gives_the_same_bytes(finished):
    before, lock = files(finished), (finished / "dvc.lock").read_bytes()
    for stage in ("trigger", "repair"):
        run(finished, "dvc", "repro", "--force", "--single-item", f"{stage}@dynamic_range")
    assert files(finished) == before
    assert (finished / "dvc.lock").read_bytes() == lock


def test_the_results_have_the_form_that_is_promised(finished):
    searches = metrics(finished, "trigger-dynamic_range")
    assert set(searches) == {"dflare", "dflare_d", "dflare_r", "diffchaser"}
    for summary in searches.values():
        ends = ("triggered", "exhausted", "out_of_time", "failed", "deviates_already")
        assert sum(summary[end] for end in ends) == summary["seeds"] == 16
    repair = metrics(finished, "repair-dynamic_range")
    assert repair["status"] == "repaired"
    assert repair["chosen"] in repair["repairers"]
    assert "not_fused" not in repair
    names = {path.rsplit("/", 1)[1] for path in files(finished) if path.startswith(RESULTS[1])}
    assert {"head.onnx", "repaired.onnx", "summary.json"} <= names


def test_a_second_run_does_nothing_and_says_so(finished):
    assert "Running stage" not in run(finished, "dvc", "repro", *LANE)
