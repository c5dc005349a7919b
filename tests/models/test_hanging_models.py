"""A model that never answers is given up once, and ends with whoever asked it."""

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import product

import numpy as np
import pytest
import yaml
from endless_onnx import endless_classifier, endless_rnn
from small_trainings import UNIT

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script
from asterism.core.workers.worker import WorkerProcess
from asterism.dflare.pair import ModelPair
from asterism.models import isolated_model
from asterism.models.classifier import IsolatedClassifier
from asterism.models.isolated_model import ModelHangError
from asterism.models.recurrent import RecurrentModel, open_rnn
from asterism.models.recurrent.opening import IsolatedEngine
from marked import Marked, wait_until
from places import ROOT
from thinning import every

DARK = np.full((6, 8, 8, 1), 10, np.uint8)
BRIGHT = np.full((6, 8, 8, 1), 250, np.uint8)


class Counted(IsolatedClassifier):
    asked = 0

    def predict(self, images):
        self.asked += 1
        return super().predict(images)


def test_a_classifier_that_hangs_is_asked_once(tmp_path, monkeypatch):
    with IsolatedClassifier(endless_classifier(tmp_path / "endless.onnx"), UNIT) as model:
        assert model.predict(DARK).shape == (6, 4)
        monkeypatch.setattr(isolated_model, "PATIENCE_S", 1.5)
        with pytest.raises(ModelHangError, match=r"endless\.onnx .*2 s"):
            model.predict(BRIGHT)
        assert model.pid is None
        with pytest.raises(ModelHangError, match="not called again"):
            model.predict(DARK)
        assert model.pid is None, "no other process is started"


def test_a_model_that_reads_nothing_hangs(tmp_path, monkeypatch):
    """Its process is stopped, and more images than the system keeps for it are on their way."""
    with IsolatedClassifier(endless_classifier(tmp_path / "endless.onnx"), UNIT) as model:
        monkeypatch.setattr(isolated_model, "PATIENCE_S", 1.5)
        os.kill(model.pid, signal.SIGSTOP)
        with pytest.raises(ModelHangError, match=r"endless\.onnx .*2 s"):
            model.predict(np.concatenate([DARK] * 10_000))
        assert model.pid is None


@pytest.mark.slow
def test_a_batch_that_hangs_is_not_divided(tmp_path, monkeypatch):
    """Each part with the input that hangs would take the whole limit again."""
    path = endless_classifier(tmp_path / "endless.onnx")
    with Counted(path, UNIT) as f, Counted(path, UNIT) as g:
        monkeypatch.setattr(isolated_model, "PATIENCE_S", 1.5)
        with pytest.raises(ModelHangError):
            ModelPair(f, g).ask(np.concatenate([BRIGHT] * 40))
        assert (f.asked, g.asked) == (1, 1)


def test_a_network_is_the_same_in_other_processes(tmp_path):
    path = endless_rnn(tmp_path / "net.onnx")
    images = np.random.default_rng(1).integers(0, 100, (300, 8, 8, 1), np.uint8)
    here, there = open_rnn(path, "states"), open_rnn(path, "states", isolated=True)
    for own, other in zip(here.run(images), there.run(images), strict=True):
        assert own.dtype == other.dtype and np.array_equal(own, other)
    assert (here.layer, here.width, here.classes) == (there.layer, there.width, there.classes)
    there.engine.close()


@pytest.mark.slow
def test_a_network_that_hangs_is_given_up_in_all_threads(tmp_path, monkeypatch):
    path = endless_rnn(tmp_path / "net.onnx")
    engine = IsolatedEngine(path, "states")
    model = RecurrentModel(engine)
    monkeypatch.setattr(isolated_model, "PATIENCE_S", 5.0)
    sequences = np.full((model.block, 8, 8), 0.9, np.float32)
    raised = []

    def ask():
        for _ in range(20):
            try:
                engine.compute(sequences)
            except ModelHangError as error:
                raised.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(raised) == 60
    assert all("did not answer within 5 s" in text for text in raised)
    engine.close()


def test_after_a_hang_no_other_process_is_started(tmp_path, monkeypatch):
    opened = []

    class Counted(WorkerProcess):
        def start(self):
            opened.append(self)
            super().start()

    monkeypatch.setattr(isolated_model, "WorkerProcess", Counted)
    engine = IsolatedEngine(endless_rnn(tmp_path / "net.onnx"), "states")
    sequences = np.full((RecurrentModel(engine).block, 8, 8), 0.9, np.float32)
    monkeypatch.setattr(isolated_model, "PATIENCE_S", 1.5)
    for _ in range(2):
        with pytest.raises(ModelHangError):
            engine.compute(sequences)
        engine.close()  # none is idle, as where other threads are at work with all of them
    assert len(opened) == 1


@pytest.fixture
def own_network(tmp_path):
    """A project with ``rnn=file``, whose network is endless from its first probe on."""
    path = endless_rnn(tmp_path / "net.onnx", limits=(-1, 9))
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["rnn"] = {"source": "file", "path": str(path), "layer": "states"}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/no_file").touch()
    return tmp_path


@pytest.mark.slow
def test_a_network_that_hangs_at_opening_is_one_line(own_network, monkeypatch):
    monkeypatch.setattr(isolated_model, "PATIENCE_S", 5.0)
    monkeypatch.chdir(own_network)
    stage = load_script(ROOT / "stages", "train_rnn")
    with pytest.raises(UserError, match=r"net\.onnx .*5 s") as error:
        stage.run(read_params(stage.Params))
    assert "\n" not in str(error.value)
    assert not (own_network / "artifacts").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stage_with_an_endless_network_ends_on_a_signal(own_network, number):
    marked = Marked()
    process = subprocess.Popen(
        [sys.executable, ROOT / "stages", "train_rnn"],
        cwd=own_network,
        env=marked.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: any(p.cpu_times().user > 1 for p in isolated_by(marked)), seconds=200)
    time.sleep(3)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "error: train_rnn: interrupted; the same command resumes it"
    assert marked.left() == []


def isolated_by(marked):
    """Processes that run a model for another one: started for it, or forked by one that was."""
    running = marked.running()
    forking = {
        p.pid for p in running if "asterism.core.workers.starting:serve_forks" in p.cmdline()
    }
    started = [p for p in running if "asterism.core.workers.entry" in p.cmdline()]
    started = [p for p in started if p.pid not in forking]
    return started + [p for p in running if p.ppid() in forking]


ASK = """
import sys
from pathlib import Path
import numpy as np
from asterism.models.classifier import IsolatedClassifier
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.recurrent import open_rnn

if __name__ == "__main__":
    path = Path(sys.argv[1])
    if sys.argv[2] == "classifier":
        unit = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])
        model = IsolatedClassifier(path, unit)
        ask = lambda: model.predict(np.full((1, 8, 8, 1), 250, np.uint8))
    else:
        model = open_rnn(path, "states", isolated=True)
        ask = lambda: model.engine.compute(np.full((model.block, 8, 8), 0.9, np.float32))
    Path("began").touch()
    ask()
"""


@pytest.mark.parametrize(
    ("kind", "number"),
    every(2, list(product(["classifier", "rnn"], [signal.SIGKILL, signal.SIGTERM]))),
)
def test_an_endless_model_ends_with_the_process_that_asked_it(tmp_path, kind, number):
    """Without a stage around it: nobody but the system is left to end it."""
    make = endless_classifier if kind == "classifier" else endless_rnn
    path = make(tmp_path / "endless.onnx")
    (tmp_path / "ask.py").write_text(ASK)
    marked = Marked()
    environment = marked.environment | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "ask.py", str(path), kind]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment)
    wait_until((tmp_path / "began").exists)
    busy = wait_until(lambda: [p for p in marked.running() if p.pid != process.pid])
    time.sleep(1)
    os.kill(process.pid, number)
    process.wait()
    assert marked.left() == []
    assert busy
