"""The stateful lane as users run it: tiny, with DVC, in repositories of its own."""

import json

import pytest
from workspace import commit, copy_project, run

# The fast tests have each computation on its own: training in `models/`, profile, chain, seeds
# and campaigns in `deepstellar/`, traces under attack in `attacks/`. What DVC does with stages is
# tested on stages that take no time, in `test_sharing.py` and `test_sweeps.py`.
pytestmark = pytest.mark.slow

TINY = [
    "data.train=400",
    "data.test=120",
    "rnn.units=[24]",
    "rnn.training.epochs=6",
    "seeds.per_class=2",
    "fuzz.mutants=1500",
    "coverage.references=5",
    "attack.rnn_inputs=15",
]
LANE = ["measure_coverage", "attack_rnn"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A project in which the lane has run, pushed to a remote folder."""
    project = copy_project(tmp_path_factory.mktemp("finished") / "project", TINY)
    run(project, "dvc", "repro", *LANE)
    commit(project, "results")
    run(project, "dvc", "remote", "add", "-d", "store", project.parent / "store")
    run(project, "dvc", "push", "--run-cache")
    commit(project, "remote")
    return project


def test_two_runs_from_scratch_give_the_same_bytes(finished, tmp_path):
    again = copy_project(tmp_path / "again", TINY)
    run(again, "dvc", "repro", *LANE)
    assert (again / "dvc.lock").read_bytes() == (finished / "dvc.lock").read_bytes()


def test_a_second_run_does_nothing_and_says_so(finished):
    assert "up to date" in run(finished, "dvc", "repro", *LANE)
    assert "Running stage" not in run(finished, "dvc", "repro", *LANE)


def test_a_clone_pulls_and_runs_nothing(finished, tmp_path):
    clone = tmp_path / "clone"
    run(tmp_path, "git", "clone", "-q", finished, clone)
    run(clone, "dvc", "pull", "--run-cache", *LANE, "--with-deps")
    output = run(clone, "dvc", "repro", *LANE)
    assert "Running stage" not in output
    assert "up to date" in run(clone, "dvc", "status", *LANE, "--with-deps")
    assert run(clone, "git", "status", "--porcelain") == ""
    coverage = json.loads((clone / "metrics" / "measure_coverage.json").read_text())
    assert coverage == json.loads((finished / "metrics" / "measure_coverage.json").read_text())


def test_the_metrics_have_the_form_that_is_promised(finished):
    chain = json.loads((finished / "metrics" / "build_dtmc.json").read_text())
    assert chain["states"] > 10
    assert chain["transitions"] >= chain["states"] - chain["sequences"]
    coverage = json.loads((finished / "metrics" / "measure_coverage.json").read_text())
    criteria = {
        "basic_state",
        "weighted_state",
        "n_step_state_boundary",
        "basic_transition",
        "weighted_transition",
    }
    sets = {"test", "seeds"}
    sets |= {
        f"{c}_{k}" for c in ("state", "k_step", "transition", "none") for k in ("queue", "crashes")
    }
    assert sets <= set(coverage)
    for values in coverage.values():
        assert criteria <= set(values)
        assert all(0 <= values[c] <= 1 for c in criteria)


# What each stage reads is compared with dvc.yaml in test_dvc_yaml.py.
def test_a_changed_parameter_reruns_only_what_depends_on_it(finished, tmp_path):
    clone = tmp_path / "clone"
    run(tmp_path, "git", "clone", "-q", finished, clone)
    run(clone, "dvc", "pull", *LANE, "--with-deps")
    text = (clone / "params.yaml").read_text()
    (clone / "params.yaml").write_text(text.replace("references: 5", "references: 6"))
    output = run(clone, "dvc", "repro", *LANE)
    ran = {line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage")}
    assert ran == {"measure_coverage", "attack_rnn"}


@pytest.mark.parametrize("stage", LANE)
def test_dvc_draws_every_curve_on_its_own(finished, stage):
    output = run(finished, "dvc", "plots", "show", "--json", f"plots/{stage}/roc.csv")
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
