"""A real second ONNX Runtime: its known faults are found, and the installed version is clean."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from asterism.differential.adapters.backend_names import FLOAT64
from asterism.differential.report.writing import Reporter
from asterism.differential.shrinking.reproduction import Reproduction
from asterism.differential.triage.triage import Triage
from asterism.memo.graphs.graph import Graph, Node, input_node
from libraries.small_results import JUDGE, triage_params, verdict_on
from libraries.small_runs import task_of, working
from manual.manual_pages import commands
from places import ROOT
from real_environments import make_or_skip

OLD = "onnxruntime@1.17"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder of programs with the environment, made as a user makes it."""
    folder = tmp_path_factory.mktemp("programs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTERISM_PROGRAMS_ROOT", str(folder))
        patch.chdir(ROOT)
        make_or_skip(OLD)
    return folder


@pytest.fixture
def state(made, monkeypatch):
    monkeypatch.setenv("ASTERISM_PROGRAMS_ROOT", str(made))
    monkeypatch.chdir(ROOT)


def test_the_pages_command_names_what_a_new_openvino_breaks(state, tmp_path):
    """As docs/versions.md has it, with fewer models, one kind of inputs and no explanations."""
    (command,) = [c for c in commands() if "compare-versions openvino 2024.6" in c.text]
    fewer = ["--generated", "1", "--distribution", "normal", "--explain", "0"]
    target = ["--no-open", "--target", str(tmp_path / "page")]
    # A process of its own: this one may run Keras on another backend already.
    asterism = str(Path(sys.executable).parent / "asterism")
    asked = [asterism, *command.words[1:], *fewer, *target]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr  # some models change for the worse
    found = json.loads((tmp_path / "page/changes.json").read_text())
    worse = {c["model"].split()[0] for c in found["findings"] if c["kind"] == "now wrong"}
    assert "ReduceLogSumExp" in worse


def test_the_ordinary_stages_run_it_beside_the_installed_one(state, tmp_path):
    """From execution to a bug report whose script runs in the environment."""
    graph = Graph(
        {
            0: input_node((5,)),
            1: input_node((5,)),
            2: Node("ReLU", {"dtype": "float32"}, (0,)),
            3: Node("Maximum", {"dtype": "float32"}, (2, 1)),
        }
    )
    backends = [f"{OLD}:tf2onnx", "onnxruntime:tf2onnx", *FLOAT64]
    with working(backends) as pool:
        result = pool.run(task_of(graph, "nan"))
        (finding,) = verdict_on(graph, result).findings
        assert (finding.library, finding.symptom) == (OLD, "NaN/Inf mask differs")
        assert "onnxruntime:tf2onnx" in finding.agreeing
        params = triage_params(max_unique=1, max_steps=20, hang_seconds=60)
        show = Reproduction(pool, JUDGE, 0, 60)
        triage = Triage(show, params)
        with Reporter(show, {}, tmp_path, {}) as reporter:
            (unique,), _ = triage.run([finding], [graph], ["nan"], reporter.start)
            report = reporter.finish(unique)
    assert [unique.graph.nodes[i].type for i in unique.graph.layers] == ["Maximum"]
    assert report.confirmed == (1, 1, 1)
    folder = tmp_path / report.folder
    script = (folder / "repro.py").read_text()
    assert "onnxruntime 1.17.3" in script and "import keras" not in script
    assert "the environment onnxruntime@1.17" in (folder / "report.md").read_text()
    assert np.isnan(result.outputs["onnxruntime:tf2onnx"]["nan"][0]).any()
