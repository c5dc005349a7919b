"""Each lane as users run it: tiny, with DVC, in a repository of its own."""

import json

import pytest
from workspace import SMALL_SEARCH, copy_project, run

# The fast tests have each computation on its own. What DVC does with stages is tested on stages
# that take no time, in `test_sharing.py` and `test_sweeps.py`.
pytestmark = pytest.mark.slow

#: What makes each lane small, and its last stages.
LANES = {
    "stateful": (
        [
            *("data.train=400", "data.test=120", "rnn.units=[24]", "rnn.training.epochs=6"),
            *("seeds.per_class=2", "fuzz.mutants=1500", "coverage.references=5"),
            "attack.rnn_inputs=15",
        ],
        ["measure_coverage", "attack_rnn"],
    ),
    "importance": (
        [
            *("data.train=400", "data.test=120", "rnn.units=[16]", "rnn.training.epochs=4"),
            *("coverage.references=5", "classifier.training.epochs=3", "attack.inputs=10"),
            *("attack.rnn_inputs=20", "attack.options.carlini_wagner.inputs=3"),
            "attack.options.carlini_wagner.iterations=50",
        ],
        ["measure_importance", "measure_driving"],
    ),
    "compressed": (
        [
            *("data.train=600", "data.test=120", "classifier.training.epochs=4"),
            *(*SMALL_SEARCH, "repair.folds=3", "repair.repeats=2"),
        ],
        ["repair@dynamic_range"],
    ),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Gives the project in which a lane has run."""
    made = {}

    def project(lane):
        if lane not in made:
            small, stages = LANES[lane]
            made[lane] = copy_project(tmp_path_factory.mktemp(lane) / "project", small)
            run(made[lane], "dvc", "repro", *stages)
        return made[lane]

    return project


def metrics(project, name):
    return json.loads((project / "metrics" / f"{name}.json").read_text())


@pytest.mark.parametrize("lane", LANES)
def test_two_runs_from_scratch_give_the_same_bytes_and_a_third_runs_nothing(
    lane, finished, tmp_path
):
    small, stages = LANES[lane]
    again = copy_project(tmp_path / "again", small)
    run(again, "dvc", "repro", *stages)
    assert (again / "dvc.lock").read_bytes() == (finished(lane) / "dvc.lock").read_bytes()
    assert "Running stage" not in run(again, "dvc", "repro", *stages)


def test_coverage_of_every_set_is_a_share(finished):
    project = finished("stateful")
    chain = metrics(project, "build_dtmc")
    assert chain["states"] > 10
    assert chain["transitions"] >= chain["states"] - chain["sequences"]
    criteria = {"basic_state", "weighted_state", "n_step_state_boundary"}
    criteria |= {"basic_transition", "weighted_transition"}
    guides = ("state", "k_step", "transition", "none")
    coverage = metrics(project, "measure_coverage")
    wanted = {f"{guide}_{kind}" for guide in guides for kind in ("queue", "crashes")}
    assert {"test", "seeds"} | wanted <= set(coverage)
    for values in coverage.values():
        assert criteria <= set(values)
        assert all(0 <= values[criterion] <= 1 for criterion in criteria)


def test_every_search_accounts_for_every_seed_and_a_repair_leaves_its_files(finished):
    project = finished("compressed")
    searches = metrics(project, "trigger-dynamic_range")
    assert set(searches) == {"dflare", "dflare_d", "dflare_r", "diffchaser"}
    for summary in searches.values():
        ends = ("triggered", "exhausted", "out_of_time", "failed", "deviates_already")
        assert sum(summary[end] for end in ends) == summary["seeds"] == 16
    repair = metrics(project, "repair-dynamic_range")
    assert repair["status"] == "repaired"
    assert repair["chosen"] in repair["repairers"]
    left = {path.name for path in (project / "artifacts/repair/dynamic_range").rglob("*")}
    assert {"head.onnx", "repaired.onnx", "summary.json"} <= left


@pytest.mark.parametrize("stage", LANES["stateful"][1])
def test_dvc_draws_every_curve_on_its_own(finished, stage):
    output = run(finished("stateful"), "dvc", "plots", "show", "--json", f"plots/{stage}/roc.csv")
    drawn = json.loads(output)["data"][f"plots/{stage}/roc.csv"][0]["content"]
    encoding = drawn["encoding"]
    keys = [encoding[channel]["field"] for channel in ("color", "column", "strokeDash")]
    curves = {}
    for row in drawn["data"]["values"]:
        point = [float(row[encoding[axis]["field"]]) for axis in "xy"]
        curves.setdefault(tuple(row[key] for key in keys), []).append(point)
    assert len(curves) >= 2
    for points in curves.values():
        assert points == sorted(points)
        assert (points[0], points[-1]) == ([0, 0], [1, 1])
