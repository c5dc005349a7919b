"""``asterism findings``: what a run has found that is not finished."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from asterism.cli.commands import app
from asterism.core.parameters.params import read_params
from asterism.core.resuming.work_units import work_units
from asterism.core.running.stage import load_script
from asterism.differential.adapters.backend_names import FLOAT64
from asterism.differential.engine.execution import backends_of, parts_of
from asterism.differential.engine.record import FOLDERS, ExecutionRecord
from asterism.memo.graphs.store import write_models
from libraries.small_results import chained, made_result
from memo.small_graphs import layer
from places import ROOT

GRAPH = chained((4,), layer("ReLU"))
RIGHT = np.linspace(0, 1, 8).reshape(2, 4)


def result(model, backend):
    """What all references and two backends gave; the named one is wrong."""
    given = dict.fromkeys(FLOAT64, RIGHT)
    given |= dict.fromkeys(("jax:jit", "pytorch:eager"), RIGHT.astype(np.float32))
    return made_result({n: [y + (n == backend)] for n, y in given.items()}, model=model)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose models have not run, in the current folder."""
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "stages", tmp_path / "stages")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("asterism.differential.engine.execution.PART_RUNS", 32)
    write_models(Path("artifacts/generate_models"), {f"{i:05d}": GRAPH for i in range(5)})


def test_it_judges_finished_parts_and_what_is_saved_of_others(project):
    runner, stage = CliRunner(), load_script(Path("stages"), "execute_models")
    assert "0 of 5 models have run; 0 findings" in runner.invoke(app, ["findings"]).output
    params = read_params(stage.Params)
    units = work_units("execute_models", params, stage.INPUTS)
    parts = parts_of([GRAPH] * 5, backends_of(params.execute), ["normal", "wide"], 0.1)
    assert len(parts) > 2

    def job(models, stops, checkpoint):
        record = ExecutionRecord()
        for model in models:
            record.add([result(model, "jax:jit")])
            checkpoint.save(record.save, FOLDERS)
            if stops:
                raise KeyboardInterrupt
        return record

    names = list(parts)
    jobs = {
        names[0]: lambda checkpoint: job(parts[names[0]], False, checkpoint),
        names[1]: lambda checkpoint: job(parts[names[1]], True, checkpoint),
    }
    with pytest.raises(KeyboardInterrupt):
        units.gather(jobs, ExecutionRecord.load)
    said = runner.invoke(app, ["findings"]).output
    done = len(parts[names[0]]) + 1
    assert f"{done} of 5 models have run; {done} findings" in said
    assert f"{done}  values differ | jax | " in said


def test_it_writes_into_no_folder_that_is_there(project):
    Path("early").mkdir()
    answer = CliRunner().invoke(app, ["findings", "--triage", "early"])
    assert "early is there already" in str(answer.exception)
