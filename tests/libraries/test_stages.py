"""The three stages after generation, on two tiny models and a library with an injected bug."""

import os

import pytest

from asterism.config import compose
from asterism.core.artifacts import read_json, read_table
from asterism.core.params import read_params
from asterism.core.stage import load_script
from asterism.libraries.execution import Record
from asterism.memo.graph import Graph
from asterism.memo.store import write_models, write_weights
from libraries.injected_library import SWITCH, TARGET
from libraries.test_injected_bugs import GRAPHS
from places import ROOT

OVERRIDES = [
    "execute.routes=[injected:eager,tensorflow:eager,pytorch:eager]",
    "execute.draws=[normal,wide]",
    "triage.max_unique=1",
    "triage.max_steps=8",
]


@pytest.mark.slow
def test_from_models_to_a_confirmed_script(tmp_path, monkeypatch):
    (tmp_path / "params.yaml").write_text(compose(ROOT / "conf", OVERRIDES))
    switch = tmp_path / "switch"
    switch.write_text("perturb")
    monkeypatch.setenv(SWITCH, str(switch))
    monkeypatch.setenv("ASTERISM_LIBRARIES", "libraries.injected_library")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")]))
    monkeypatch.chdir(tmp_path)
    write_models(tmp_path / "artifacts/generate_models", {"00000": GRAPHS[0], "00001": GRAPHS[1]})
    write_weights(tmp_path / "artifacts/reduce_models/weights.npz", {})
    for name in ("execute_models", "judge_models", "triage_findings"):
        stage = load_script(ROOT / "stages", name)
        stage.run(read_params(stage.Params))
    artifacts = tmp_path / "artifacts"
    assert read_json(artifacts / "execute_models/left_out.json") == {}
    assert len(Record.load(artifacts / "execute_models").tasks) == 2
    outcomes = read_table(artifacts / "execute_models/outcomes.csv")
    assert set(outcomes["ok"]) == {2}
    judged = read_json(tmp_path / "metrics/judge_models.json")
    assert judged["by_symptom"] == {"values differ": 1} and judged["invalid_rate"] == 0
    triaged = read_json(tmp_path / "metrics/triage_findings.json")
    assert (triaged["unique"], triaged["reproduced_in_three_processes"]) == (1, 1)
    (unique,) = read_json(artifacts / "triage_findings/unique.json")
    assert unique["layer"] == f"{TARGET}()" and unique["confirmed"] == [1, 1, 1]
    folder = artifacts / "triage_findings" / unique["folder"]
    files = {file.name for file in folder.iterdir()}
    assert files == {"model.json", "model.keras", "report.md", "repro.py"}
    assert Graph.from_json(read_json(folder / "model.json")) == Graph.from_json(unique["graph"])
