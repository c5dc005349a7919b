"""The three stages after generation, on two tiny models and a library with an injected bug."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from asterism.core.files.artifacts import read_json, read_table, write_json
from asterism.core.files.hashes import hash_path
from asterism.differential.engine.record import ExecutionRecord
from asterism.memo.graphs.store import graph_from_json, write_models, write_weights
from libraries.injected_library import SWITCH, TARGET
from libraries.small_results import chained
from libraries.small_runs import python
from libraries.test_injected_bugs import GRAPHS
from memo.small_graphs import layer
from places import ROOT

OVERRIDES = [
    "execute.backends=[injected:eager,tensorflow:eager,pytorch:eager]",
    "execute.distributions=[normal,wide]",
    "triage.max_unique=1",
    "triage.max_steps=8",
]


def command(folder, *arguments):
    """A command in a folder, as its user types it; what it printed."""
    done = python(*arguments, folder=folder)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with configuration and pipeline; commands know a library outside of the package."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    monkeypatch.setenv("ASTERISM_LIBRARIES", "libraries.injected_library")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")]))
    return tmp_path


PARAMS = ("-c", "from asterism.cli import main; main()", "params")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["execute_models", "judge_models", "triage_findings"])
def test_a_parameter_that_is_code_ends_a_stage_before_anything_runs(name, project):
    command(project, *PARAMS, *OVERRIDES)
    mark = project / "code-ran"
    folder = project / "artifacts/generate_models"
    write_models(folder, {"00000": GRAPHS[0]})
    models = read_json(folder / "models.json")
    code = f"name=__import__('os').system('touch {mark}') or 'x', seed"
    models[0]["nodes"][-1]["config"][code] = 0
    write_json(folder / "models.json", models)
    write_json(project / "artifacts/judge_models/findings.json", [])
    with pytest.raises(RuntimeError, match=r"models\.json: the model '00000': node ") as error:
        command(project, ROOT / "stages", name)
    (told,) = [line for line in str(error.value).splitlines() if "[info" not in line]
    assert told.startswith(f"error: {name}: ") and not mark.exists()


ARTIFACTS, METRICS = "artifacts/triage_findings", "metrics/triage_findings.json"
STEPS = "triage.max_steps=40"

#: The message names no layer, so the layer at fault is looked for by halves.
GRAPH = chained(
    (4, 5, 6),
    *(layer("Dense", units=units) for units in (4, 3, 5, 4, 3, 4)),
    layer("ReLU"),
    layer(TARGET, negative_slope=0.1),
)


@pytest.fixture
def judged(project, monkeypatch):
    """A project in which a model has run and one finding waits for triage."""
    command(project, *PARAMS, *OVERRIDES, STEPS)
    switch = project / "switch"
    switch.write_text("exception")
    monkeypatch.setenv(SWITCH, str(switch))
    write_models(project / "artifacts/generate_models", {"00000": GRAPH, "00001": GRAPHS[1]})
    write_weights(project / "artifacts/reduce_models/weights.npz", {})
    command(project, ROOT / "stages", "execute_models")
    command(project, ROOT / "stages", "judge_models")
    ran = project / "artifacts/execute_models"
    assert read_json(ran / "left_out.json") == {} and len(ExecutionRecord.load(ran)) == 2
    assert set(read_table(ran / "outcomes.csv")["ok"]) == {1, 2}
    assert read_table(project / "artifacts/judge_models/unsupported.csv").is_empty()
    metrics = read_json(project / "metrics/judge_models.json")
    assert metrics["by_symptom"] == {"error": 1} and metrics["invalid_rate"] == 0
    return project


def triage(folder, state, *overrides):
    """Triage with its state elsewhere: a digest of all that it wrote, its metrics, its log."""
    command(folder, *PARAMS, *OVERRIDES, STEPS, *overrides)
    stage = ROOT / "stages", "triage_findings"
    done = python(*stage, folder=folder, ASTERISM_STATE_ROOT=str(state))
    assert done.returncode == 0, done.stderr
    return hash_path(folder / ARTIFACTS), read_json(folder / METRICS), done.stderr


def shrunk(state):
    """The findings that are remembered."""
    saved = sorted(state.glob("units/triage_findings/*/findings.checkpoint/*/facts.json"))
    return read_json(saved[-1]) if saved else []


@pytest.mark.slow
def test_models_get_a_confirmed_script_also_where_triage_is_killed(judged, tmp_path):
    whole, metrics, _ = triage(judged, tmp_path / "undisturbed")
    assert metrics["unique"] == 1 and metrics["not_minimal"] == 0
    assert metrics["reproduced_in_three_processes"] == 1
    (unique,) = read_json(judged / ARTIFACTS / "unique.json")
    folder = judged / ARTIFACTS / unique["folder"]
    files = {file.name for file in folder.iterdir()}
    assert files == {"model.json", "model.keras", "report.md", "repro.py"}
    graph = graph_from_json(read_json(folder / "model.json"))
    assert graph == graph_from_json(unique["graph"])
    assert [graph.nodes[i].type for i in graph.layers] == [TARGET]
    assert unique["confirmed"] == [1, 1, 1]
    state = tmp_path / "disturbed"
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "stages"), "triage_findings"],
        cwd=judged,
        env=os.environ | {"ASTERISM_STATE_ROOT": str(state)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not shrunk(state):
        assert process.poll() is None, "it came to its end before it was killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    again, same, log = triage(judged, state, "triage.minutes=0.0001")
    assert (again, same) == (whole, metrics)
    assert "remembered_findings=1" in log and shrunk(state) == shrunk(tmp_path / "undisturbed")
