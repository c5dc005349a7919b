"""The stage that triages, killed in the midst, with real workers."""

import os
import signal
import subprocess
import sys
import time

import pytest

from asterism.core.files.artifacts import read_json
from asterism.core.files.hashes import digest_of
from asterism.memo.graphs.graph import sequential
from asterism.memo.graphs.store import write_models, write_weights
from asterism.memo.universe.tensors import Tensor
from libraries.injected_library import SWITCH, TARGET
from libraries.test_stages import OVERRIDES, PARAMS, command, project
from memo.small_graphs import layer
from places import ROOT

__all__ = ["project"]

ARTIFACTS, METRICS = "artifacts/triage_findings", "metrics/triage_findings.json"
STEPS = "triage.max_steps=40"

#: The message names no layer, so the layer at fault is looked for by halves.
GRAPH = sequential(
    Tensor((4, 5, 6)),
    [
        *(layer("Dense", units=units) for units in (4, 3, 5, 4, 3, 4)),
        layer("ReLU"),
        layer(TARGET, negative_slope=0.1),
    ],
)


@pytest.fixture
def judged(project, monkeypatch):
    """A project in which a model has run and one finding waits for triage."""
    command(project, *PARAMS, *OVERRIDES, STEPS)
    switch = project / "switch"
    switch.write_text("exception")
    monkeypatch.setenv(SWITCH, str(switch))
    write_models(project / "artifacts/generate_models", {"00000": GRAPH})
    write_weights(project / "artifacts/reduce_models/weights.npz", {})
    command(project, ROOT / "stages", "execute_models")
    command(project, ROOT / "stages", "judge_models")
    return project


def triage(folder, state, *overrides):
    """Triage with its state elsewhere: a digest of all that it wrote, its metrics, its log."""
    command(folder, *PARAMS, *OVERRIDES, STEPS, *overrides)
    done = subprocess.run(
        [sys.executable, str(ROOT / "stages"), "triage_findings"],
        cwd=folder,
        env=os.environ | {"ASTERISM_STATE_ROOT": str(state)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return digest_of(folder / ARTIFACTS), read_json(folder / METRICS), done.stderr


def shrunk(state):
    """The findings that are remembered."""
    saved = sorted(state.glob("units/triage_findings/*/findings.checkpoint/*/facts.json"))
    return read_json(saved[-1]) if saved else []


@pytest.mark.slow
def test_a_killed_triage_goes_on_to_the_same_bytes(judged, tmp_path):
    whole, metrics, _ = triage(judged, tmp_path / "undisturbed")
    assert metrics["unique"] == 1 and metrics["not_minimal"] == 0
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
