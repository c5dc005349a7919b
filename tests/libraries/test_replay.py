"""Findings that show only after other models in the same process, with a library that remembers."""

import json
import os

import pytest

from asterism.core.files.artifacts import read_json
from asterism.core.workers.worker import Limits
from asterism.differential.adapters.backends import FLOAT64
from asterism.differential.engine.execution import execute
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.params import ExecuteParams
from asterism.differential.engine.tasks import Result
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import EarlierModel, Finding, read_findings
from asterism.differential.oracle.judged import REMEMBERED, Histories, judge_all
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.writing import ToTriage, triage_and_write
from asterism.differential.triage.params import TriageSettings
from asterism.differential.triage.replay import Replayer, _counts
from asterism.differential.triage.reproduction import ReproducedRun
from asterism.differential.triage.unique import UniqueFinding
from asterism.memo.graphs.graph import sequential
from asterism.memo.graphs.store import write_weights
from asterism.memo.universe.tensors import Tensor
from libraries.remembering_library import FAILS, SPOILS, SWITCH, WORDS
from libraries.small_triage import triage_params
from memo.small_graphs import layer

JUDGE = JudgeParams(ulps=64, conditioning=8)
TRIAGE = triage_params(max_unique=3, max_steps=12, hang_seconds=20, replays=40)
KINDS = {"crash": "crash", "wrong": "values differ"}
GRAPHS = [
    sequential(Tensor((4,)), [layer("Dense", units=3)]),
    sequential(Tensor((4,)), [layer("Dense", units=3), layer(SPOILS)]),
    sequential(Tensor((4,)), [layer("Softmax")]),
    sequential(Tensor((4,)), [layer("Dense", units=3), layer(FAILS), layer("Softmax")]),
]


@pytest.fixture(scope="module")
def switch(tmp_path_factory):
    path = tmp_path_factory.mktemp("kind") / "switch"
    os.environ[SWITCH] = str(path)
    path.write_text("")
    return path


@pytest.fixture(scope="module")
def worker_pool(switch):
    environment = {
        "ASTERISM_LIBRARIES": "libraries.remembering_library",
        SWITCH: str(switch),
        "PYTHONPATH": os.pathsep.join(["src", "tests"]),
    }
    backends = ("remembering:eager", *FLOAT64, "pytorch:eager")
    with WorkerPool(backends, Limits(60.0, 2000), environment=environment) as made:
        assert made.start() == {}
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_finding_that_needs_another_model_before_it_gets_a_script_with_both(
    worker_pool, switch, kind, tmp_path
):
    switch.write_text(kind)
    worker_pool.renew(["remembering"])
    record = execute(GRAPHS, worker_pool, ["normal"], 0)
    (found,) = judge_all(GRAPHS, record, JUDGE, 0).findings
    assert (found.model, found.symptom, found.library) == (3, KINDS[kind], "remembering")
    assert [earlier.model for earlier in found.before] == [0, 1, 2]
    if kind == "crash":
        assert found.message.endswith(WORDS) and found.message.startswith("F tensorflow")
    weights = tmp_path / "weights.npz"
    write_weights(weights, {})
    execution = ExecuteParams.model_construct(
        backends=["remembering:eager"], distributions=["normal"]
    )
    folder = tmp_path / "triaged"
    settings = TriageSettings.model_construct(execute=execution, judge=JUDGE, triage=TRIAGE, seed=0)
    given = ToTriage([found], GRAPHS, weights)
    counts = triage_and_write(given, settings, folder, worker_pool=worker_pool)
    assert (counts["after_other_models"], counts["not_reproduced"]) == (1, 0)
    (unique,) = read_json(folder / "unique.json")
    assert unique["confirmed"] == [1, 1, 1] and "after a model" in unique["minimality"]
    assert [node["type"] for node in unique["graph"]["nodes"]][1:] == [FAILS]
    text = (folder / unique["folder"] / "repro.py").read_text()
    assert text.count("def before()") == 1 and SPOILS in text and "Softmax" not in text
    history = read_json(folder / unique["folder"] / "history.json")
    assert [run["model"] for run in history["ran"]] == [0, 1, 2]
    assert history["replays"] == {
        "alone": "gone",
        "after 1 run": "gone",
        "after 2 runs before it": "shows",
    }
    assert "## What ran before" in (folder / unique["folder"] / "report.md").read_text()


@pytest.mark.slow
def test_what_never_shows_again_stands_apart_with_its_history(worker_pool, switch, tmp_path):
    switch.write_text("")
    weights = tmp_path / "weights.npz"
    write_weights(weights, {})
    found = Finding(
        3,
        "crash",
        "run",
        "remembering",
        ("remembering:eager",),
        ("normal",),
        exception="SIGABRT",
        message=WORDS,
        before=(EarlierModel(0, ("normal",)), EarlierModel(1, ("normal",))),
    )
    folder = tmp_path / "triaged"
    execution = ExecuteParams.model_construct(
        backends=["remembering:eager"], distributions=["normal"]
    )
    settings = TriageSettings.model_construct(execute=execution, judge=JUDGE, triage=TRIAGE, seed=0)
    given = ToTriage([found], GRAPHS, weights)
    counts = triage_and_write(given, settings, folder, worker_pool=worker_pool)
    assert counts["not_reproduced"] == 1
    (unique,) = read_json(folder / "unique.json")
    assert unique["folder"].startswith("not-reproduced/")
    assert [earlier["model"] for earlier in unique["finding"]["before"]] == [0, 1]
    history = read_json(folder / unique["folder"] / "history.json")
    assert history["worker"] == "remembering" and set(history["replays"].values()) == {"gone"}
    text = (folder / unique["folder"] / "report.md").read_text()
    assert WORDS in text and "SIGABRT" in text and SPOILS in text and "Not reproduced" in text


def outcome(model, backend, status="ok"):
    return ExecutionOutcome(model, backend, "run", status)


def ran(model, *backends, died=()):
    outcomes = {b: outcome(model, b, "crash" if b in died else "ok") for b in backends}
    return Result(model, ("normal",), outcomes)


def test_each_worker_has_its_own_history_which_ends_with_its_process():
    histories = Histories()
    histories.add(ran(0, "jax:jit", "tensorflow:eager"))
    histories.add(ran(1, "jax:jit", "jax:eager", "tf2onnx", died=("jax:jit",)))
    histories.add(ran(2, "jax:eager"))
    assert histories.before("jax:jit") == (EarlierModel(2, ("normal",)),)
    assert [e.model for e in histories.before("tensorflow:xla")] == [0]
    assert [e.model for e in histories.before("tf2onnx")] == [1]
    assert histories.before("pytorch:eager") == ()
    for model in range(100):
        histories.add(ran(model, "jax:jit"))
    assert [e.model for e in histories.before("jax:jit")] == [*range(100 - REMEMBERED, 100)]


def test_a_blocked_step_asked_nothing_of_its_worker():
    histories = Histories()
    histories.add(Result(0, ("normal",), {"jax:jit": outcome(0, "jax:jit", "blocked")}))
    assert histories.before("jax:jit") == ()


def test_a_finding_keeps_its_history_in_a_file(tmp_path):
    found = Finding(
        1,
        "hang",
        "run",
        "jax",
        ("jax:jit",),
        ("normal",),
        before=(EarlierModel(0, ("nan", "wide")),),
    )
    path = tmp_path / "findings.json"
    path.write_text(json.dumps([found.to_json()]))
    assert read_findings(path, 2) == [found]
    for changed in ({"model": 7}, {"distributions": ["odd"]}):
        value = found.to_json()
        value["before"] = [{**value["before"][0], **changed}]
        path.write_text(json.dumps([value]))
        with pytest.raises(Exception, match=r"there is no model 7|which does not exist"):
            read_findings(path, 2)


class Spoilt:
    """Workers in one of which a model shows the finding after one that spoils it."""

    seed = deaths = 0

    def __init__(self, needs=frozenset({SPOILS})):
        self.needs, self.seen, self.runs = needs, set(), 0
        self.worker_pool = self

    def usable(self):
        return ("jax:eager", "jax:jit", "pytorch:eager")

    def renew(self, workers):
        assert workers == {"jax"}
        self.seen = set()

    def run(self, task):
        self.seen |= {task.graph.nodes[i].type for i in task.graph.layers}

    def look(self, graph, finding):
        self.runs += 1
        shows = self.needs <= self.seen and FAILS in {graph.nodes[i].type for i in graph.layers}
        return ReproducedRun(finding if shows else None, {})


def replayed(show, most=100, models=(0, 1, 2)):
    before = tuple(EarlierModel(model, ("normal", "wide")) for model in models)
    found = Finding(3, "values differ", "run", "jax", ("jax:eager",), ("normal",), before=before)
    unique = UniqueFinding("s", found, GRAPHS[3], None, {3}, 3)
    return Replayer(show, GRAPHS, most).replay(unique)


def types(graph):
    return [graph.nodes[i].type for i in graph.layers]


def test_only_what_is_needed_before_is_left_and_it_is_shrunk():
    replay = replayed(Spoilt())
    assert types(replay.found.graph) == [FAILS] and replay.found.unfinished == ""
    (task,) = replay.found.before
    assert types(task.graph) == [SPOILS] and len(task.backends) == len(task.inputs) == 1


def test_two_that_are_needed_are_both_left():
    replay = replayed(Spoilt({SPOILS, "Softmax"}))
    assert [types(task.graph) for task in replay.found.before] == [[SPOILS], ["Softmax"]]


def test_a_model_that_shows_it_alone_in_a_fresh_worker_needs_nothing_before():
    replay = replayed(Spoilt(set()))
    assert replay.tried == {"alone": "shows"} and replay.found.before == ()
    assert types(replay.found.graph) == [FAILS]


def test_replays_are_a_budget():
    show = Spoilt({"Conv2D"})
    replay = replayed(show)
    assert replay.found is None and set(replay.tried.values()) == {"gone"}
    assert show.runs == len(_counts(3)) and _counts(0) == [0] and _counts(5) == [0, 1, 2, 4, 5]
    short = Spoilt()
    stopped = replayed(short, 4).found.unfinished
    assert stopped.startswith("stopped by triage.replays=4; ") and short.runs == 4
    assert stopped.endswith(" smaller models are left to try")
    assert replayed(Spoilt(), 1).tried == {"alone": "gone"}
