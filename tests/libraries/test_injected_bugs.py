"""Real workers, real libraries and a fake one with injected bugs: found, named, shrunk, unique."""

import os

import pytest

from asterism.core.workers.worker import WorkerLimits
from asterism.differential.adapters.backend_names import FLOAT64
from asterism.differential.report.confirming import exit_statuses
from asterism.differential.report.writing import KnownIssue, Reporter
from asterism.differential.shrinking.reproduction import Reproduction
from asterism.differential.triage.triage import Triage
from libraries.injected_library import KINDS, LINES, SOUND, SWITCH, TARGET
from libraries.small_results import JUDGE, chained, triage_params, verdict_on
from libraries.small_runs import task_of, worker_environment, working
from memo.small_graphs import layer

SYMPTOM = {
    "crash": "crash",
    "hang": "hang",
    "memory": "memory",
    "exception": "error",
    "nan": "NaN/Inf mask differs",
    "transpose": "values differ",
    "shape": "wrong shape",
    "perturb": "values differ",
}
GRAPHS = [
    chained(
        (4,), layer("Dense", units=5), layer(TARGET, negative_slope=0.5), layer("Dense", units=3)
    ),
    chained((4,), layer("Dense", units=4), layer("ReLU")),
    chained((6, 2), layer("Conv1D", filters=3, kernel_size=[2]), layer(TARGET), layer("Flatten")),
]


@pytest.fixture(scope="module")
def worker_pool(tmp_path_factory):
    switch = tmp_path_factory.mktemp("fault") / "switch"
    switch.write_text("")
    os.environ[SWITCH] = str(switch)
    environment = worker_environment("libraries.injected_library") | {SWITCH: str(switch)}
    backends = ("injected:eager", *FLOAT64, "tensorflow:eager", "pytorch:eager")
    with working(backends, WorkerLimits(20.0, 600), environment=environment) as made:
        made.switch = switch
        yield made


def findings(worker_pool, distributions=("normal",)):
    found = []
    tasks = [task_of(g, *distributions, index=i) for i, g in enumerate(GRAPHS)]
    for result in worker_pool.run_all(tasks):
        found += verdict_on(GRAPHS[result.index], result).findings
    return found


@pytest.mark.slow
def test_sound_libraries_agree_on_ordinary_and_special_inputs(worker_pool):
    worker_pool.switch.write_text("")
    assert findings(worker_pool, ("normal", "wide")) == []
    # TensorFlow alone cannot convolve a batch of no items: a true finding of a lane of its own.
    assert findings(worker_pool, ("nan",)) == findings(worker_pool, ("infinity",)) == []
    assert findings(worker_pool, ("gradient",)) == []


# The default run finds, shrinks and confirms real findings.
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_found_named_shrunk_written_up_and_confirmed(
    worker_pool, kind, tmp_path, monkeypatch
):
    patience = 90 if kind != "hang" else 20
    monkeypatch.setattr("asterism.differential.report.confirming.PATIENCE", patience)
    examine(worker_pool, kind, tmp_path)


def examine(worker_pool, kind, folder):
    worker_pool.switch.write_text(kind)
    try:
        found = findings(worker_pool)
        assert {f.library for f in found} == {"injected"}
        assert {f.model for f in found} == {0, 2}
        assert {f.symptom for f in found} == {SYMPTOM[kind]}
        params = triage_params(max_unique=5, max_steps=12)
        show = Reproduction(worker_pool, JUDGE, 0, 10)
        unique, left = Triage(show, params).run(found, GRAPHS, ["normal"])
        assert left.groups == []
        assert len(unique) == 1, [u.signature for u in unique]
        (one,) = unique
        assert [one.graph.nodes[i].type for i in one.graph.layers] == [TARGET]
        assert one.graph.nodes[one.graph.layers[0]].config.get("negative_slope", 0.3) == 0.3
        assert one.models == {0, 2}
        assert one.ablation["tensorflow:eager"] == "ok"
        assert one.ablation["injected:eager"] == "shows"
        if one.finding.by_values:
            assert one.signature == f"{SYMPTOM[kind]} | injected | {TARGET}()"
        known = {"injected": KnownIssue("a link")}
        with Reporter(show, {}, folder, known) as reporter:
            reporter.start(one)
            report = reporter.finish(one)
        assert report.known == "a link"
        assert report.confirmed == (1, 1, 1) and report.reproduced
        script = folder / report.folder / "repro.py"
        text = script.read_text()
        assert "asterism" not in text.lower()
        if kind != "hang":  # for that one it would have to wait as long as any machine may take
            script.write_text(text.replace(LINES[kind], SOUND[kind]))
            assert exit_statuses(script, 1) == (0,), "the script must say when the bug is gone"
    finally:
        worker_pool.switch.write_text("")


#: PyTorch interpolates with other weights, in float64 too.
GRAPH = chained((2, 3, 1), layer("UpSampling2D", interpolation="bicubic"))


@pytest.mark.slow
def test_how_far_one_reference_is_from_another_is_not_tolerated(tmp_path):
    params = triage_params(max_unique=5, max_steps=2)
    with working((*FLOAT64, "pytorch:eager", "jax:jit")) as pool:
        found = verdict_on(GRAPH, pool.run(task_of(GRAPH, "normal"))).findings
        wrong = [f for f in found if f.backends == ("pytorch:eager",)]
        show = Reproduction(pool, JUDGE, 0, 10)
        (unique,), _ = Triage(show, params).run(wrong, [GRAPH], ["normal"])
        with Reporter(show, {}, tmp_path, {}) as reporter:
            reporter.start(unique)
            assert reporter.finish(unique).confirmed == (1, 1, 1)
