"""The importance lane as users run it: tiny, with DVC, in a repository of its own."""

import pytest
from workspace import copy_project, run

TINY = [
    "data.train=400",
    "data.test=120",
    "rnn.units=[16]",
    "rnn.training.epochs=4",
    "coverage.references=5",
    "classifier.training.epochs=3",
    "attack.inputs=10",
    "attack.rnn_inputs=20",
    "attack.options.carlini_wagner.inputs=3",
    "attack.options.carlini_wagner.iterations=50",
]
LANE = ["measure_importance", "attack_rnn", "measure_driving"]


@pytest.mark.slow
def test_two_runs_from_scratch_give_the_same_bytes(tmp_path):
    locks = []
    for name in ("first", "second"):
        project = copy_project(tmp_path / name, TINY)
        run(project, "dvc", "repro", *LANE)
        locks.append((project / "dvc.lock").read_bytes())
    assert locks[0] == locks[1]
