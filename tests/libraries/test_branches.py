"""Branches of the libraries' code: measured in workers, rewarded once, shown by module."""

import json
from pathlib import Path

import numpy as np
import pytest

from asterism.differential.engine.branch_reward import branch_reward
from asterism.differential.engine.branches import branch_table
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.memo.generating.strategies import run_campaign
from asterism.memo.graphs.store import write_weights
from extras import needs
from libraries.small_results import chained
from libraries.small_runs import python
from memo.small_graphs import generate_params, layer
from memo.test_generation import SEEDS

PACKAGE = """
def sign(x):
    if x > 0:
        return "positive"
    if x < 0:
        return "negative"
    return "zero"
"""
ASK = """
import json, sys
from asterism.differential.engine.branches import BranchMeter
sys.path.insert(0, sys.argv[1])
meter = BranchMeter(["measured_package", "no_such_package"])
from measured_package.signs import sign
news = []
for x in (1, 1, -1, 0):
    sign(x)
    news.append(meter.news())
print(json.dumps(news))
"""


@needs("coverage")
def test_each_branch_is_news_once(tmp_path):
    package = tmp_path / "measured_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "signs.py").write_text(PACKAGE)
    news = json.loads(python("-c", ASK, tmp_path).stdout)
    name = "measured_package/signs.py"
    assert [n["branches"] for n in news] == [
        [f"{name}:3:4"],
        [],
        [f"{name}:3:5", f"{name}:5:6"],
        [f"{name}:5:7"],
    ]
    assert news[0]["exits"][name] == 4
    assert all(name not in n["exits"] for n in news[1:])


def test_modules_add_up_their_files_and_what_several_rewards_have_learnt_counts_once():
    dense, layers = "keras/src/layers/core/dense.py", "keras/src/layers/a.py"
    one = {"branches": [f"{dense}:1:2", f"{dense}:1:3"], "exits": {dense: 4, layers: 2}}
    other = {"branches": [f"{dense}:1:2", "tf2onnx/b.py:1:2"], "exits": {"tf2onnx/b.py": 3}}
    assert branch_table([one, other]) == {
        "module": ["keras/src/layers", "tf2onnx"],
        "reached": [2, 1],
        "branches": [6, 3],
    }
    assert branch_table([]) == {"module": [], "reached": [], "branches": []}


@pytest.mark.slow
def test_new_branches_are_rewarded_and_a_reward_goes_on_where_it_was(tmp_path: Path, monkeypatch):
    weights, tasks = tmp_path / "weights.npz", []
    write_weights(weights, {})
    dense = chained((4,), layer("Dense", units=2))
    pooled = chained((4, 2), layer("MaxPooling1D", pool_size=2))
    run = WorkerPool.run
    monkeypatch.setattr(WorkerPool, "run", lambda pool, task: tasks.append(task) or run(pool, task))
    with branch_reward(["pytorch:eager"], weights, 3) as reward:
        tasks.clear()  # whether the backend works
        assert reward.learnt() == {"models": 0, "branches": [], "exits": {}}
        first, again = reward(dense), reward(dense)
        assert first > 0 and again < first / 4
        learnt = reward.learnt()
        assert (learnt["models"], len(learnt["branches"])) == (2, first + again)
        assert reward(pooled) > 0
        for number, task in enumerate(tasks):  # each model has inputs of its own
            expected = sample_inputs(task.graph, 3, number, "normal")
            np.testing.assert_array_equal(task.inputs["normal"], expected)
        table = branch_table([reward.learnt()])
        assert "keras/src/layers" in table["module"]
        assert all(0 <= r <= b for r, b in zip(table["reached"], table["branches"], strict=True))
        before = reward.learnt()
        made = run_campaign(SEEDS, generate_params(models=3), 0, "memo", extra=reward)
        assert len(made.mutants) == 3 and len(reward.learnt()["branches"]) > len(before["branches"])
        reward.restore(learnt)
        assert reward.learnt() == learnt and reward(dense) < first / 4
