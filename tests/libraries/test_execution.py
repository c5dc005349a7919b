"""Running models in workers: what is left out, what is kept, and how a killed run goes on."""

import os

import numpy as np
import pytest

from asterism.core.files.artifacts import read_arrays, read_json
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import read_params
from asterism.core.resuming import checkpoints
from asterism.core.resuming.work_units import SharedWorkUnits
from asterism.core.running.stage import load_script
from asterism.core.workers.worker import Limits
from asterism.libraries.running import execution
from asterism.libraries.running.execution import Record, execute
from asterism.libraries.running.outcomes import ExecutionOutcome
from asterism.libraries.running.worker_pool import LayerDescription, Result, WorkerPool
from asterism.memo.graphs.graph import sequential
from asterism.memo.graphs.store import write_models
from asterism.memo.universe.tensors import Tensor
from libraries import small_library
from memo.small_graphs import branching, layer
from places import ROOT

BACKENDS = ("absent:none", "broken:none", "small:abort", "small:none")
GRAPHS = [sequential(Tensor((size,)), [layer("Dense", units=2)]) for size in (2, 3, 4)]


@pytest.fixture(scope="module")
def worker_pool():
    environment = {
        "ASTERISM_LIBRARIES": small_library.__name__,
        "PYTHONPATH": os.pathsep.join(["src", "tests"]),
    }
    with WorkerPool(BACKENDS, Limits(60.0, 2000), environment=environment) as made:
        made.start()
        yield made


def test_what_is_missing_or_broken_is_left_out_and_the_run_goes_on(worker_pool):
    assert set(worker_pool.left_out) == {"absent:none", "broken:none", "small:abort"}
    assert "no-such-distribution" in worker_pool.left_out["absent:none"]
    assert "it does not start" in worker_pool.left_out["broken:none"]
    assert "SIGABRT" in worker_pool.left_out["small:abort"]
    assert worker_pool.usable() == ("small:none",)
    record = execute(GRAPHS, worker_pool, ["normal"], 0)
    assert [[o["backend"] for o in task["outcomes"]] for task in record.tasks] == [
        ["small:none"]
    ] * 3
    assert {o["status"] for task in record.tasks for o in task["outcomes"]} == {"ok"}


def test_layers_are_asked_of_the_next_worker_where_one_is_missing(worker_pool):
    variables = [("kernel", (3, 2)), ("bias", (2,))]
    assert worker_pool.described(GRAPHS[1]) == {1: LayerDescription({"units": 2}, variables)}


def test_a_record_is_read_as_it_was_written(worker_pool, tmp_path):
    record = execute(GRAPHS, worker_pool, ["normal", "wide", "nan"], 0)
    record.save(tmp_path)
    read = Record.load(tmp_path)
    assert len(read.tasks) == 2 * len(GRAPHS)  # what is special is a task of its own
    for at in range(len(record.tasks)):
        one, two = record.result(at), read.result(at)
        assert (one.index, one.distributions, one.outcomes) == (
            two.index,
            two.distributions,
            two.outcomes,
        )
        assert one.outputs.keys() == two.outputs.keys() == {"small:none"}
        for distribution in one.distributions:
            for first, second in zip(
                one.outputs["small:none"][distribution],
                two.outputs["small:none"][distribution],
                strict=True,
            ):
                assert first.dtype == second.dtype
                np.testing.assert_array_equal(first, second)


def test_a_killed_run_is_taken_up_where_it_was(worker_pool, monkeypatch):
    whole = execute(GRAPHS, worker_pool, ["normal", "nan"], 0)
    monkeypatch.setattr(checkpoints, "SAVE_EVERY", 0)
    run_all, seen = worker_pool.run_all, []

    def stop_at_four(tasks):
        for result in run_all(tasks):
            seen.append(result.index)
            yield result
            if len(seen) == 4:
                raise KeyboardInterrupt

    monkeypatch.setattr(worker_pool, "run_all", stop_at_four)
    with pytest.raises(KeyboardInterrupt):
        execute(GRAPHS, worker_pool, ["normal", "nan"], 0, SharedWorkUnits("execute", "key"))
    record = execute(GRAPHS, worker_pool, ["normal", "nan"], 0, SharedWorkUnits("execute", "key"))
    assert seen == [0, 0, 1, 1, 2, 2], "what was saved is not run again"
    assert record.tasks == whole.tasks
    assert record.arrays.keys() == whole.arrays.keys()


def test_a_state_holds_each_output_once_however_often_it_was_saved(worker_pool, tmp_path):
    record, written = Record(), {}
    whole = execute(GRAPHS, worker_pool, ["normal"], 0)
    for at in [*range(len(whole.tasks)), *range(len(whole.tasks))]:
        record.add(whole.result(at))
        execution.append(record, tmp_path)
        for path in tmp_path.rglob("*.*"):
            facts = path.stat()
            assert written.setdefault(path, facts.st_mtime_ns) == facts.st_mtime_ns
    names = [n for path in tmp_path.rglob("*.npz") for n in read_arrays(path)]
    assert sorted(names) == sorted(whole.arrays)


@pytest.mark.parametrize("size", [1, 2])
def test_groups_of_models_give_what_all_together_give(worker_pool, monkeypatch, size):
    whole = execute(GRAPHS, worker_pool, ["normal", "nan"], 0)
    monkeypatch.setattr(execution, "GROUP", size)
    grouped = execute(
        GRAPHS, worker_pool, ["normal", "nan"], 0, SharedWorkUnits("execute", f"by {size}")
    )
    assert [task["index"] for task in grouped.tasks] == [0, 0, 1, 1, 2, 2]
    assert grouped.tasks == whole.tasks
    assert grouped.arrays.keys() == whole.arrays.keys()


def test_a_rejected_model_is_one_however_often_it_was_run(tmp_path, monkeypatch):
    (tmp_path / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    write_models(tmp_path / "artifacts/generate_models", {"one": branching(), "two": branching()})
    record = Record()
    for distribution in ("normal", "nan"):
        rejected = ExecutionOutcome(0, "jax:jit", "build", "error", "ValueError", "no")
        record.add(Result(0, (distribution,), {"jax:jit": rejected}))
    record.save(tmp_path / "artifacts/execute_models")
    stage = load_script(ROOT / "stages", "judge_models")
    stage.run(read_params(stage.Params))
    metrics = read_json(tmp_path / "metrics/judge_models.json")
    assert (metrics["findings"], metrics["invalid_models"], metrics["invalid_rate"]) == (2, 1, 0.5)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("index", 2, "no model 2"),
        ("index", -1, "no model -1"),
        ("index", "0", "no model"),
        ("distributions", None, "it is no result"),
        ("outcomes", [{"backend": "jax:jit"}], "Field required"),
        ("outputs", {"jax:jit": {"normal": ["none"]}}, "it is no result"),
        ("outputs", {"jax:import os": {}}, "no backend"),
    ],
)
def test_a_record_of_something_else_is_rejected(key, value, said):
    outcome = ExecutionOutcome(1, "jax:jit", "run", "ok")
    task = {"index": 1, "distributions": ["normal"], "outcomes": [outcome.to_json()], "outputs": {}}
    (result,) = Record([task]).results(2)
    assert (result.index, result.outcomes) == (1, {"jax:jit": outcome})
    with pytest.raises(UserError, match=said) as error:
        list(Record([{**task, key: value}]).results(2))
    assert "task 0" in str(error.value)
