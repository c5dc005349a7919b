"""What is rejected before a library reads it, and a model that takes memory only when it runs."""

import os
from importlib import import_module
from pathlib import Path

import h5py
import numpy as np
import onnx
import psutil
import pytest

from asterism.core.files.hashes import hash_path
from asterism.core.files.limits import read_within_limit, require_file_within_limit
from asterism.core.messages.errors import UserError
from asterism.core.settings.regular_files import open_regular
from asterism.models.classifier import IsolatedClassifier
from asterism.models.keras_models.limits import require_plain
from asterism.models.keras_models.reading import load_keras
from models.model_files import keras_model
from readers import onnx_models
from readers.crafted_keras import HDF5
from readers.crafted_networks import before
from readers.of_models import UNIT


@pytest.mark.parametrize("edit", HDF5)
def test_what_is_not_plain_in_an_hdf5_file_is_named(edit, tmp_path):
    path = tmp_path / "w.h5"
    with h5py.File(path, "w") as file:
        file["layers/dense/kernel"] = np.ones((16, 3), np.float32)
        HDF5[edit](file, "layers/dense/kernel")
    with h5py.File(path) as file, pytest.raises(UserError) as rejected:
        require_plain(file, path.read_bytes(), path)
    said = str(rejected.value)
    assert "w.h5" in said and ("(/" in said or "MB" in said), "the object is named"


def test_a_link_that_no_library_here_made_is_rejected(tmp_path):
    """HDF5 asks a library for what a user-defined link means."""
    path = tmp_path / "w.h5"
    with h5py.File(path, "w") as file:
        file["leading_out"] = h5py.ExternalLink("other.h5", "/x")
    content = path.read_bytes()
    at = content.find(b"leading_out")
    place = content.rfind(bytes([64]), at - 12, at)
    assert place > 0, "the type of the link stands before its name"
    path.write_bytes(content[:place] + bytes([99]) + content[place + 1 :])
    with h5py.File(path) as file, pytest.raises(UserError, match="a link of another library's"):
        require_plain(file, path.read_bytes(), path)


def test_a_file_of_which_hdf5_dies_is_one_line(tmp_path, monkeypatch):
    keras_model().save(tmp_path / "m.h5")
    (tmp_path / "dying.py").write_text("import os\ndef serve(path): os.kill(os.getpid(), 11)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    limits = "asterism.models.keras_models.limits"
    monkeypatch.setattr(f"{limits}.serve_nothing", import_module("dying").serve)
    with pytest.raises(UserError, match=r"m\.h5 .*SIGSEGV"):
        load_keras(tmp_path / "m.h5")


def test_what_is_relied_upon_of_keras_to_count_weights(tmp_path, monkeypatch):
    """Weights are counted where Keras takes their memory, which is no public place."""
    keras_model().save(tmp_path / "m.keras")
    load_keras(tmp_path / "m.keras")
    monkeypatch.setattr("asterism.models.keras_models.limits._BYTES", 10**8)
    with pytest.raises(UserError, match=r"m\.keras .*weights of [\d,]+ MB"):
        load_keras(tmp_path / "m.keras")
    monkeypatch.undo()
    load_keras(tmp_path / "m.keras")


@pytest.mark.parametrize("target", ["", "/dev/null", "/dev/zero", "/dev/tty", "/dev/stdin"])
@pytest.mark.parametrize(
    "read",
    [
        open_regular,
        hash_path,
        lambda path: read_within_limit(path, "limits.text_mb"),
        lambda path: require_file_within_limit(path, "limits.text_mb"),
    ],
    ids=["open", "digest", "within", "size"],
)
def test_no_reader_waits_for_a_pipe_or_opens_a_device(tmp_path, monkeypatch, read, target):
    path = tmp_path / "strange"
    path.symlink_to(target) if target else os.mkfifo(path)
    opened, system_open = [], os.open
    monkeypatch.setattr(os, "open", lambda p, *a, **k: opened.append(p) or system_open(p, *a, **k))
    with pytest.raises((OSError, UserError), match="no plain file"):
        read(path)
    assert path not in map(Path, opened)


def test_what_is_exchanged_after_it_was_looked_at_is_seen(tmp_path, monkeypatch):
    plain, pipe = tmp_path / "plain", tmp_path / "pipe"
    plain.touch()
    os.mkfifo(pipe)
    system_open = os.open
    monkeypatch.setattr(os, "open", lambda path, *given: system_open(pipe, *given))
    before = psutil.Process().num_fds()
    with pytest.raises(OSError, match="no plain file"):
        open_regular(plain)
    monkeypatch.undo()
    assert psutil.Process().num_fds() == before, "the descriptor is closed"


_COUNTING = """
  sum = ReduceSum <keepdims = 0> (images)
  sign = Sign (sum)
  any = Abs (sign)
  real = Mul (any, top)
  end = Cast <to = 7> (real)
  many = Range (nil, end, one)
  values = Cast <to = 1> (many)
  most = ReduceSum <keepdims = 0> (values)
  last = Add (images, most)
"""


def counting(path, top):
    """A model that counts to a number which nobody knows before it runs."""
    model = onnx_models.plain()
    before(_COUNTING, top=np.float32(top), nil=np.int64(0), one=np.int64(1))(model)
    onnx.save(model, path)


@pytest.mark.slow
def test_a_model_that_grows_when_it_runs_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("ASTERISM_LIMITS_PROCESS_MB", "1500")
    counting(tmp_path / "small.onnx", 10)
    with IsolatedClassifier(tmp_path / "small.onnx", UNIT) as model:
        assert model.classes == 4
    counting(tmp_path / "large.onnx", 10**9)
    with pytest.raises(UserError, match=r"large\.onnx"):
        IsolatedClassifier(tmp_path / "large.onnx", UNIT)
