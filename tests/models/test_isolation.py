"""A model that ends its process ends nothing else."""

import gc
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
from model_files import images, keras_model, write
from small_trainings import UNIT

from asterism.core.messages.errors import UserError
from asterism.core.workers.starting import ForkServer, LaunchError
from asterism.models.classifier import FileClassifier, IsolatedClassifier
from asterism.models.isolated_model import ModelCrashError
from thinning import every

DESCRIPTORS = Path("/proc/self/fd")


@pytest.fixture(scope="module")
def tflite(tmp_path_factory):
    return write(keras_model(), tmp_path_factory.mktemp("models") / "model.tflite")


def test_it_answers_as_in_this_process(tflite):
    with IsolatedClassifier(tflite, UNIT) as isolated:
        assert isolated.input_shape == (8, 8, 1)
        expected = FileClassifier(tflite, UNIT).predict(images(20))
        assert np.array_equal(isolated.predict(images(20)), expected)
        assert isolated.predict(images(0)).shape == (0, 4)
        with pytest.raises(UserError, match="uint8"):
            isolated.predict(images(2).astype(np.float32))


@pytest.mark.skipif(not DESCRIPTORS.is_dir(), reason="the system tells no open files")
def test_what_the_model_complains_into_is_open_in_its_own_process_only(tmp_path):
    with suppress(UserError):  # from then on a process is at hand that forks those of models
        IsolatedClassifier(tmp_path / "none.onnx", UNIT)
    before = {os.path.realpath(d) for d in DESCRIPTORS.iterdir()}
    with pytest.raises(UserError, match="no model file"):
        IsolatedClassifier(tmp_path / "none.onnx", UNIT)
    gc.collect()
    after = {os.path.realpath(d) for d in DESCRIPTORS.iterdir()}
    assert [path for path in after - before if path.endswith("(deleted)")] == []
    assert [path for path in after - before if path.startswith("socket:")] == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are not forked")
def test_processes_are_forked_from_one_that_has_done_the_imports(tflite, tmp_path, monkeypatch):
    """They have the folder and the variables of the moment all the same."""
    monkeypatch.chdir(tmp_path)
    parents = set()
    for _ in range(2):
        with IsolatedClassifier(tflite, UNIT) as isolated:
            process = psutil.Process(isolated.pid)
            assert process.cwd() == str(tmp_path)
            parents.add(process.ppid())
    assert len(parents) == 1 and os.getpid() not in parents
    monkeypatch.setenv("ASTERISM_LIMITS_PROCESS_MB", "1")
    with pytest.raises(UserError):
        IsolatedClassifier(tflite, UNIT)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are not forked")
def test_where_no_process_can_be_forked_one_is_started_anew(tflite, monkeypatch):
    def broken(*_):
        raise LaunchError("what is imported starts threads")

    monkeypatch.setattr(ForkServer, "fork", broken)
    with IsolatedClassifier(tflite, UNIT) as isolated:
        assert psutil.Process(isolated.pid).ppid() == os.getpid()
        assert isolated.predict(images(3)).shape == (3, 4)


def test_damaged_files_are_one_line(tflite, tmp_path):
    """Offsets of a FlatBuffer that point anywhere."""
    content = tflite.read_bytes()
    rng = np.random.default_rng(3)
    for attempt in range(3):
        damaged = bytearray(content)
        for position in rng.integers(8, 400, 40):
            damaged[position] = rng.integers(0, 256)
        path = tmp_path / f"damaged{attempt}.tflite"
        path.write_bytes(damaged)
        with pytest.raises(UserError) as error:
            IsolatedClassifier(path, UNIT)
        assert "\n" not in str(error.value)


def test_after_an_error_the_same_process_answers_the_next_call(tflite, monkeypatch):
    with IsolatedClassifier(tflite, UNIT) as isolated:
        before, process = isolated.predict(images(3)), isolated.pid
        monkeypatch.setattr("asterism.models.classifier.require_images", lambda *_: None)
        with pytest.raises(UserError, match="takes images of shape") as error:
            isolated.predict(np.zeros((1, 2, 2, 1), np.uint8))
        assert not isinstance(error.value, ModelCrashError)
        assert np.array_equal(isolated.predict(images(3)), before)
        assert isolated.pid == process


@pytest.mark.parametrize("ending", every(3, [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL]))
def test_after_a_crash_the_next_call_works(tflite, ending):
    with IsolatedClassifier(tflite, UNIT) as isolated:
        before = isolated.predict(images(3))
        os.kill(isolated.pid, ending)
        with pytest.raises(ModelCrashError, match=ending.name):
            isolated.predict(images(3))
        assert np.array_equal(isolated.predict(images(3)), before)


def test_a_file_that_cannot_be_opened_is_the_openers_error(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x08" * 100)
    with pytest.raises(UserError, match="ONNX Runtime cannot open") as error:
        IsolatedClassifier(path, UNIT)
    assert not isinstance(error.value, ModelCrashError)
