"""The stage that triages, killed in the midst and cut off by its ceiling, with real workers."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from asterism.core.files.artifacts import read_json
from asterism.core.files.hashes import digest_of
from asterism.core.resuming.checkpoints import read_facts
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


#: A stage that saves whatever a saving is possible.
EAGER = """
import runpy
import sys

from asterism.core.resuming import checkpoints

checkpoints.SAVE_EVERY = 0.0
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


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


def answers(state):
    """The answers that are saved."""
    (folder,) = state.glob("units/triage_findings/*/candidates.checkpoint") or (state,)
    return read_facts(folder)


def remembered(log):
    """How many answers a run began with."""
    (count,) = re.findall(r"remembered_candidates=(\d+)", log)
    return int(count)


def kill_after(folder, state, more):
    """Triage that saves each answer, killed once so many more are saved."""
    before = len(answers(state))
    process = subprocess.Popen(
        [sys.executable, "-c", EAGER, str(ROOT / "stages"), "triage_findings"],
        cwd=folder,
        env=os.environ | {"ASTERISM_STATE_ROOT": str(state)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while len(answers(state)) < before + more:
        assert process.poll() is None, "it came to its end before it was killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.slow
def test_a_killed_triage_and_one_without_time_go_on_to_the_same_bytes(judged, tmp_path):
    whole, metrics, _ = triage(judged, tmp_path / "undisturbed")
    asked = answers(tmp_path / "undisturbed")
    assert metrics["unique"] == 1 and metrics["not_minimal"] == 0 and len(asked) > 5

    state = tmp_path / "disturbed"
    kill_after(judged, state, 3)
    written = len(answers(state))

    _, cut, log = triage(judged, state, "triage.minutes=0.0001")
    there = remembered(log)  # the killed run's last answer may have come after the kill
    assert 3 <= written <= there < len(asked)
    assert "stopped by triage.minutes=0.0001: the next run goes on" in log
    assert cut["not_minimal_by_time"] == 1 and len(answers(state)) == there + 1
    (unique,) = read_json(judged / ARTIFACTS / "unique.json")
    assert "triage.minutes=0.0001; " in unique["minimality"]
    report = (judged / ARTIFACTS / unique["folder"] / "report.md").read_text()
    assert "left to try, and the next run goes on here" in report

    again, same, log = triage(judged, state)
    assert (again, same) == (whole, metrics) and remembered(log) == there + 1
    assert sorted(answers(state)) == sorted(asked), "nothing was asked twice"

    (path,) = state.glob("units/triage_findings/*/candidates.checkpoint/*/facts.json")
    path.write_bytes(path.read_bytes()[1:])
    again, same, log = triage(judged, state)
    assert (again, same) == (whole, metrics)
    assert "damaged, computed again" in log and "remembered_candidates" not in log
