"""Judging a test set by one command: which lane, which files, and what it answers."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from small_pipeline import asterism
from typer.testing import CliRunner

from asterism.asking import lanes
from asterism.asking.lanes import JudgeRequest, resolve_judging
from asterism.cli import commands
from asterism.core.files.artifacts import write_json
from asterism.core.messages.errors import UserError
from asterism.deepstellar.criteria import criteria_in_order
from asterism.models.signatures.signature import Signature, TensorSpec
from asterism.sweep.workspace import run_git
from places import ROOT

CONF = ROOT / "conf"
IMAGES = Signature("keras", (TensorSpec("x", "float32", (None, 28, 28, 1)),), ())
ROWS = Signature("onnx", (TensorSpec("x", "float32", (None, 28, 28)),), (), recurrent=True)
TOKENS = Signature("keras", (TensorSpec("x", "int32", (None, 40)),), (), recurrent=True)
NUMBERS = Signature("onnx", (TensorSpec("x", "float32", (None, 8)),), ())


@pytest.fixture
def reads(monkeypatch):
    """Lets model files have a signature."""

    def read(signature):
        monkeypatch.setattr(lanes, "read_signature", lambda path: signature)

    return read


def overrides(run):
    """Those of a run as Hydra reads them, by key."""
    parser = OverridesParser.create()
    read = [parser.parse_override(text) for text in run.overrides]
    return {one.key_or_group: one.value() for one in read}


@pytest.mark.parametrize(
    ("signature", "stage", "group"),
    [
        (IMAGES, "measure_importance", "classifier"),
        (ROWS, "measure_coverage", "rnn"),
        (TOKENS, "measure_coverage", "rnn"),
    ],
)
def test_the_model_says_which_lane_judges(signature, stage, group, reads, tmp_path, monkeypatch):
    reads(signature)
    monkeypatch.chdir(tmp_path)
    Path("it's.npz").touch()
    run = resolve_judging(JudgeRequest(model=Path("a b.keras"), data="it's.npz"), CONF)
    assert run.lane.stage == stage
    assert overrides(run) == {
        group: "file",
        f"{group}.path": str(tmp_path / "a b.keras"),
        "data": "npz",
        "data.path": str(tmp_path / "it's.npz"),
    }


def test_folders_known_data_and_what_else_is_asked_for(reads, tmp_path):
    reads(IMAGES)
    asked = JudgeRequest(
        model=Path("a.h5"), data=str(tmp_path), preprocessing="raw", overrides=["seed=3"]
    )
    run = resolve_judging(asked, CONF)
    found = overrides(run)
    assert (found["data"], found["preprocessing"], found["seed"]) == ("folder", "raw", 3)
    known = resolve_judging(JudgeRequest(model=Path("a.h5"), data="mnist"), CONF)
    assert overrides(known)["data"] == "mnist"
    with pytest.raises(UserError, match=r"npz; .*cifar10.*digits"):
        resolve_judging(JudgeRequest(model=Path("a.h5"), data="npz"), CONF)


def test_a_model_that_no_lane_can_use_is_told_of_all_reasons(reads):
    reads(NUMBERS)
    with pytest.raises(UserError, match=r"(?s)Keras file.*; .*recurrent layer"):
        resolve_judging(JudgeRequest(model=Path("a.onnx"), data="mnist"), CONF)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose models are taken without a trial."""
    monkeypatch.chdir(tmp_path)
    for folder in ("conf", "dvc.yaml", "stages", "params.yaml"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.setattr("asterism.models.tensor_models.trial.require_runs", lambda *_: None)
    return tmp_path


def test_a_failed_run_prints_no_answers(reads, project, monkeypatch):
    reads(IMAGES)
    asked = []
    monkeypatch.setattr("asterism.sweep.app.sweep_command", lambda run, *_: asked.append(run) or 1)
    words = ["judge-tests", "a b.h5", "--data", "digits"]
    assert CliRunner().invoke(commands.app, [*words, "--name", "n"]).exit_code == 1
    ended = CliRunner().invoke(commands.app, words)
    assert ended.exit_code == 1
    assert [run.name for run in asked] == ["n", "judge-tests-a-b"]
    assert {tuple(run.targets) for run in asked} == {("measure_importance",)}
    assert ended.output.splitlines() == [
        "importance-driven coverage: which combinations of important neurons the tests exercise"
    ]
    ended = CliRunner().invoke(commands.app, [*words, "--json", "--dry-run"])
    assert "give one of them" in str(ended.exception)


def test_a_run_that_succeeds_prints_the_answer_and_leaves_a_page(reads, project, monkeypatch):
    reads(ROWS)
    point = Path("sweeps/n/points/0000")

    def run(*_):
        """What the stages of the lane leave, of which the sweep keeps what the page shows."""
        metrics = point / "kept/metrics"
        covered = dict.fromkeys(criteria_in_order(), 0.25) | {"inputs": 40}
        write_json(metrics / "measure_coverage.json", {"test": covered})
        chain = {"states": 9, "transitions": 9, "boundary_states": 1, "explained_variance": 0.5}
        write_json(metrics / "build_dtmc.json", chain)
        write_json(metrics / "profile_states.json", {"profiled": 60})
        shutil.copy(ROOT / "params.yaml", point / "kept")
        (point / "kept/plots/build_dtmc").mkdir(parents=True, exist_ok=True)
        (point / "kept/plots/build_dtmc/graph.svg").write_text("<svg/>")
        return 0

    monkeypatch.setattr("asterism.sweep.app.sweep_command", run)
    words = ["judge-tests", "a.onnx", "--data", "digits", "--name", "n"]
    ended = CliRunner().invoke(commands.app, [*words, "--json"])
    (answer,) = json.loads(ended.stdout)
    assert ended.exit_code == 0 and "25.0%" in answer["sentence"]
    page = (point / "index.html").read_text(encoding="utf-8")
    assert answer["sentence"] in page and '"../../index.html"' in page
    told = CliRunner().invoke(commands.app, words).output
    figures = [f"{one['label']}: {one['value']}" for one in answer["figures"]]
    shown = (f"{point}/kept", f"page: {project / point}/index.html")
    for part in (answer["sentence"], *figures, *shown):
        assert part in told


def called(*words):
    """The command in a process of its own, which has to succeed."""
    done = subprocess.run(asterism(*words), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_in_an_empty_folder_it_answers_and_leaves_a_page(tmp_path, monkeypatch):
    """A small classifier of the user's own, and arrays of the user's own."""
    import keras

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASTERISM_STATE_ROOT", str(tmp_path.parent / "state"))
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (120, 8, 8, 1), dtype=np.uint8)
    labels = (images.mean((1, 2, 3)) > 127).astype(np.int64)
    np.savez("images.npz", train_images=images[:80], train_labels=labels[:80],
             test_images=images[80:], test_labels=labels[80:])  # fmt: skip
    layers = [keras.Input((8, 8, 1)), keras.layers.Flatten(),
              keras.layers.Dense(12, activation="relu", name="hidden"),
              keras.layers.Dense(2, activation="softmax")]  # fmt: skip
    keras.Sequential(layers).save("mine.keras")
    words = ["judge-tests", "mine.keras", "--data", "images.npz", "-S", "attack.names=[noise]"]
    words += ["-S", "attack.inputs=4", "-S", "importance.neurons=[3]"]
    done = called(*words, "--json")
    (answer, *_) = json.loads(done.stdout)
    assert answer["question"] == "Do the tests exercise the neurons that matter to the decisions?"
    assert "hidden" in answer["sentence"] and answer["figures"]
    point = tmp_path / "sweeps/judge-tests-mine/points/0000"
    page = (point / "index.html").read_text(encoding="utf-8")
    assert "Important neurons" in page and '"../../index.html"' in page
    assert list((point / "kept/artifacts/measure_importance").iterdir())
    assert run_git(tmp_path, "status", "--porcelain", "params.yaml", "conf") == ""
    again = called(*words, "--no-open").stdout
    assert "0 stages run" in again
    assert answer["sentence"] in again and f"page: {point / 'index.html'}" in again
