"""Running models in workers: what is left out, what is kept, and how a killed run goes on."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from structlog.testing import capture_logs

from asterism.core.files.artifacts import read_arrays, read_json, write_json
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import read_params
from asterism.core.resuming import checkpoints
from asterism.core.resuming.work_units import SharedWorkUnits, WorkUnits
from asterism.core.running.stage import load_script
from asterism.core.workers.worker import WorkerLimits
from asterism.differential.adapters.backend_names import REFERENCES
from asterism.differential.engine import execution
from asterism.differential.engine.execution import LiveLine, execute, parts_of
from asterism.differential.engine.inputs import SPECIAL_DISTRIBUTIONS, sample_inputs, special_inputs
from asterism.differential.engine.record import FOLDERS, ExecutionRecord
from asterism.differential.engine.tasks import ExecutionOutcome, LayerDescription, Result
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.memo.graphs.store import write_models
from extras import needs
from libraries import small_library
from libraries.small_results import chained
from libraries.small_runs import worker_environment
from memo.small_graphs import branching, layer
from places import ROOT

pytestmark = needs("keras")
BACKENDS = ("absent:none", "broken:none", "small:abort", "small:none")
GRAPHS = [chained((size,), layer("Dense", units=2)) for size in (2, 3, 4)]


@pytest.fixture(scope="module")
def worker_pool():
    environment = worker_environment(small_library.__name__)
    with WorkerPool(BACKENDS, WorkerLimits(60.0, 2000), environment=environment) as made:
        made.start()
        yield made


def test_what_is_missing_or_broken_is_left_out_and_the_run_goes_on(worker_pool):
    assert set(worker_pool.left_out) == {"absent:none", "broken:none", "small:abort"}
    assert "no-such-distribution" in worker_pool.left_out["absent:none"]
    assert "it does not start" in worker_pool.left_out["broken:none"]
    assert "SIGABRT" in worker_pool.left_out["small:abort"]
    assert worker_pool.usable() == ("small:none",)
    record = execute(GRAPHS, worker_pool, ["normal"], 0)
    outcomes = [task["outcomes"] for task in record.tasks()]
    assert [[o["backend"] for o in many] for many in outcomes] == [["small:none"]] * 3
    assert {o["status"] for many in outcomes for o in many} == {"ok"}


def test_layers_are_asked_of_the_next_worker_where_one_is_missing(worker_pool):
    variables = [("kernel", (3, 2)), ("bias", (2,))]
    assert worker_pool.described(GRAPHS[1]) == {1: LayerDescription({"units": 2}, variables)}


def test_a_record_is_read_as_it_was_written(worker_pool, tmp_path):
    record = execute(GRAPHS, worker_pool, ["normal", "wide", "nan"], 0)
    record.save(tmp_path)
    read = ExecutionRecord.load(tmp_path)
    tasks = list(record.tasks())
    assert tasks == list(read.tasks())
    assert len(tasks) == 2 * len(GRAPHS)  # what is special is a task of its own
    for one, two in zip(record.results(3), read.results(3), strict=True):
        assert replace(one, outputs={}) == replace(two, outputs={})
        assert bytes_of(one) == bytes_of(two) and {b for b, *_ in bytes_of(one)} == {"small:none"}


def bytes_of(result):
    """Every output of a model, by backend and kind of inputs."""
    return [
        (backend, kind, array.dtype, array.shape, array.tobytes())
        for backend, kinds in result.outputs.items()
        for kind, arrays in kinds.items()
        for array in arrays
    ]


def contents(record, folder):
    """Bytes of all files of a record, by their path."""
    record.save(folder)
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*.*")}


def test_a_killed_run_is_taken_up_at_the_model_where_it_was(worker_pool, monkeypatch, tmp_path):
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
    units = SharedWorkUnits("execute", "key")
    with pytest.raises(KeyboardInterrupt):
        execute(GRAPHS, worker_pool, ["normal", "nan"], 0, units)
    parts = parts_of(GRAPHS, worker_pool.backends, ["normal", "nan"])
    (so_far,) = units.so_far(parts, ExecutionRecord.copied)
    assert [task["index"] for task in so_far.tasks()] == [0, 0], "the model that is complete"
    record = execute(GRAPHS, worker_pool, ["normal", "nan"], 0, SharedWorkUnits("execute", "key"))
    assert seen == [0, 0, 1, 1, 1, 1, 2, 2], "what was saved is not run again"
    assert contents(record, tmp_path / "one") == contents(whole, tmp_path / "two")


def test_a_state_gets_each_model_once_however_often_it_is_saved(worker_pool, tmp_path):
    written = {}
    whole = execute(GRAPHS, worker_pool, ["normal"], 0)
    record = ExecutionRecord()
    for result in whole.results(3):
        record.add([result])
        record.save(tmp_path)
        for path in tmp_path.rglob("*.*"):
            facts = path.stat()
            assert written.setdefault(path, facts.st_mtime_ns) == facts.st_mtime_ns
    assert len(written) == 2 * len(GRAPHS)


@pytest.mark.parametrize("models", [1, 2])
def test_parts_of_models_give_what_all_together_give(worker_pool, monkeypatch, models, tmp_path):
    whole = execute(GRAPHS, worker_pool, ["normal", "nan"], 0)
    monkeypatch.setattr(execution, "PART_RUNS", models * 2 * len(BACKENDS))
    units = SharedWorkUnits("execute", f"by {models}")
    grouped = execute(GRAPHS, worker_pool, ["normal", "nan"], 0, units)
    assert len(units.finished([f"models-{at}" for at in range(3)])) == (3, 2)[models - 1]
    assert contents(grouped, tmp_path / "one") == contents(whole, tmp_path / "two")


def test_parts_are_smaller_where_a_model_costs_more():
    backends = ("tensorflow:eager", "onnxruntime:tf2onnx", *REFERENCES)
    cheap, dear, gradients = (
        len(next(iter(parts_of(GRAPHS * 200, backends, d).values())))
        for d in (["normal", "wide"], ["normal", "nan", "empty"], ["normal", "gradient"])
    )
    assert cheap == execution.PART_RUNS // 6 and dear == execution.PART_RUNS // 18
    assert gradients == execution.PART_RUNS // 10  # ONNX Runtime and NumPy do not differentiate
    assert all(len(p) == 1 for p in parts_of(GRAPHS, backends * 1000, ["normal"]).values())


def test_special_inputs_are_given_to_a_share_of_the_models(worker_pool):
    models = range(4000)
    for share in (0.0, 0.25, 1.0):
        kinds = [special_inputs(0, i, share) for i in models]
        assert abs(sum(k is not None for k in kinds) / len(models) - share) < 0.02
        known = set(kinds) - {None}
        assert known == (set(SPECIAL_DISTRIBUTIONS) if share else set())
    more = [special_inputs(0, i, 0.5) for i in models]
    less = [special_inputs(0, i, 0.25) for i in models]
    assert all(b == a for a, b in zip(more, less, strict=True) if b is not None)
    assert less != [special_inputs(1, i, 0.25) for i in models]

    record = execute(GRAPHS, worker_pool, ["normal"], 0, special_share=1.0)
    ran = [(task["index"], task["distributions"]) for task in record.tasks()]
    assert ran == [(i, d) for i in range(3) for d in (["normal"], [special_inputs(0, i, 1.0)])]
    every = execute(GRAPHS, worker_pool, ["normal", *SPECIAL_DISTRIBUTIONS], 0, special_share=1.0)
    assert len(list(every.tasks())) == 3 * 6, "a kind that all models have is run once"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_denormal_and_largest_inputs_are_what_they_are_called(dtype):
    graph, limits = chained((40,), layer("ReLU"), dtype=dtype), np.finfo(dtype)
    (denormal,), (largest,) = (sample_inputs(graph, 0, 0, d) for d in ("denormal", "largest"))
    assert denormal.dtype == largest.dtype == dtype
    assert np.all(denormal != 0) and np.abs(denormal).max() <= limits.tiny
    assert np.all(np.isfinite(largest)) and np.abs(largest).min() >= 0.09 * float(limits.max)
    assert (largest > 0).any() and (largest < 0).any()


class Finished(WorkUnits):
    """Units of which another process finishes one now and then."""

    def __init__(self):
        self.names = set()

    def finished(self, names):
        return self.names & set(names)


def test_the_live_line_counts_what_others_have_finished_and_says_the_time_left(monkeypatch):
    units, clock = Finished(), iter([0.0, 10.0, 76.0])
    monkeypatch.setattr(execution, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    units.names.add("a")
    with capture_logs() as told, LiveLine({"a": 10, "b": 20, "c": 70}, units) as line:
        line.record("b", 5)
        units.names.add("c")
        line.record("b", 6)
    (facts,) = told
    assert (facts["models"], facts["models_an_hour"]) == ("86 of 100", "3,600")
    assert facts["minutes_left"] == "0"


def test_a_rejected_model_is_one_however_often_it_was_run(tmp_path, monkeypatch):
    (tmp_path / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    write_models(tmp_path / "artifacts/generate_models", {"one": branching(), "two": branching()})
    record, results = ExecutionRecord(), []
    for distribution in ("normal", "nan"):
        rejected = ExecutionOutcome(0, "jax:jit", "build", "error", "ValueError", "no")
        results.append(Result(0, (distribution,), {"jax:jit": rejected}))
    record.add(results)
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
        ("index", "0", "valid integer"),
        ("distributions", None, "valid array"),
        ("outcomes", [{"backend": "jax:jit"}], "Field required"),
        ("outputs", {"jax:jit": {"normal": ["none"]}}, "no array 'none'"),
        ("outputs", {"jax:import os": {}}, "one that exists"),
    ],
)
def test_a_record_of_something_else_is_rejected(key, value, said, tmp_path):
    outcome, record = ExecutionOutcome(1, "jax:jit", "run", "ok"), ExecutionRecord()
    record.add([Result(1, ("normal",), {"jax:jit": outcome})])
    record.save(tmp_path)
    (result,) = ExecutionRecord.load(tmp_path).results(2)
    assert (result.index, result.outcomes) == (1, {"jax:jit": outcome})
    (path,) = (tmp_path / FOLDERS[0]).iterdir()
    write_json(path, [{**read_json(path)[0], key: value}])
    with pytest.raises(UserError, match=said) as error:
        list(ExecutionRecord.load(tmp_path).results(2))
    assert "task 0" in str(error.value)


def test_a_record_without_outputs_of_a_model_is_rejected(tmp_path):
    with pytest.raises(UserError, match="no folder 'outcomes'"):
        ExecutionRecord.load(tmp_path)
    record = ExecutionRecord()
    record.add([Result(1, ("normal",), {})])
    record.save(tmp_path)
    assert read_arrays(tmp_path / FOLDERS[1] / "00000001.npz") == {}
    (tmp_path / FOLDERS[1] / "00000001.npz").unlink()
    with pytest.raises(UserError, match="no outputs"):
        ExecutionRecord.load(tmp_path)
