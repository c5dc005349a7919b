"""The three stages after generation, on two tiny models and a library with an injected bug."""

import os
import shutil
import subprocess
import sys

import pytest

from asterism.core.files.artifacts import read_json, read_table, write_json
from asterism.differential.engine.record import Record
from asterism.memo.graphs.graph_json import graph_from_json
from asterism.memo.graphs.store import write_models, write_weights
from libraries.injected_library import SWITCH, TARGET
from libraries.test_injected_bugs import GRAPHS
from places import ROOT

OVERRIDES = [
    "execute.backends=[injected:eager,tensorflow:eager,pytorch:eager]",
    "execute.distributions=[normal,wide]",
    "triage.max_unique=1",
    "triage.max_steps=8",
]


def command(folder, *arguments):
    """A command in a folder, as its user types it; what it printed."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=folder, capture_output=True, text=True
    )
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
def test_commands_know_a_library_outside_of_the_package(project, monkeypatch):
    command(project, *PARAMS, *OVERRIDES)
    assert "injected:eager" in (project / "params.yaml").read_text()
    rejected = {
        "libraries.injected_library": ("injected:no", "injected has no backend 'no'"),
        "libraries.none": ("injected:eager", "ASTERISM_LIBRARIES names libraries.none"),
        "": ("injected:eager", "no library is called 'injected'"),
    }
    for modules, (backend, said) in rejected.items():
        monkeypatch.setenv("ASTERISM_LIBRARIES", modules)
        with pytest.raises(RuntimeError, match=said) as error:
            command(project, *PARAMS, f"execute.backends=[{backend}]")
        assert str(error.value).count("\n") == 1


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


@pytest.mark.slow
def test_from_models_to_a_confirmed_script(project, monkeypatch):
    command(project, *PARAMS, *OVERRIDES)
    switch = project / "switch"
    switch.write_text("perturb")
    monkeypatch.setenv(SWITCH, str(switch))
    write_models(project / "artifacts/generate_models", {"00000": GRAPHS[0], "00001": GRAPHS[1]})
    write_weights(project / "artifacts/reduce_models/weights.npz", {})
    for name in ("execute_models", "judge_models", "triage_findings"):
        command(project, ROOT / "stages", name)
    artifacts = project / "artifacts"
    assert read_json(artifacts / "execute_models/left_out.json") == {}
    assert len(Record.load(artifacts / "execute_models")) == 2
    outcomes = read_table(artifacts / "execute_models/outcomes.csv")
    assert set(outcomes["ok"]) == {2}
    assert read_table(artifacts / "judge_models/unsupported.csv").is_empty()
    judged = read_json(project / "metrics/judge_models.json")
    assert judged["by_symptom"] == {"values differ": 1} and judged["invalid_rate"] == 0
    triaged = read_json(project / "metrics/triage_findings.json")
    assert (triaged["unique"], triaged["reproduced_in_three_processes"]) == (1, 1)
    (unique,) = read_json(artifacts / "triage_findings/unique.json")
    assert unique["layer"] == f"{TARGET}()" and unique["confirmed"] == [1, 1, 1]
    folder = artifacts / "triage_findings" / unique["folder"]
    files = {file.name for file in folder.iterdir()}
    assert files == {"model.json", "model.keras", "report.md", "repro.py"}
    assert graph_from_json(read_json(folder / "model.json")) == graph_from_json(unique["graph"])
