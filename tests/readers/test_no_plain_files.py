"""What is no plain file is rejected by every reader at once, and nothing of it is read."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from asterism.core.files.archives import opened_zip
from asterism.core.files.artifacts import map_array, read_arrays, read_json, read_sparse, read_table
from asterism.core.files.hashes import digest_of
from asterism.core.files.limits import read_within, require_size
from asterism.core.messages.errors import UserError
from asterism.core.settings.regular_files import open_regular
from asterism.core.settings.yaml_files import read_yaml
from asterism.data.given.kind import Shaping
from asterism.data.given.reading import read_inputs
from asterism.data.pictures import read_picture
from asterism.models.classifiers.classifier import open_classifier
from asterism.models.keras_models.preprocessing import PreprocessingParams
from asterism.models.signatures.reading import read_signature


def _read_zip(path):
    with opened_zip(path, "limits.array_mb"):
        pass


def _read_kind(kind):
    return lambda path: read_inputs(path, kind, Shaping())


def _open_classifier(path):
    return open_classifier(path, PreprocessingParams(scale=1.0, mean=[0.0], std=[1.0]))


#: Readers by the suffix of the file that each is given.
READERS = {
    "json": (".json", read_json),
    "arrays": (".npz", read_arrays),
    "sparse": (".npz", read_sparse),
    "mapped": (".npy", map_array),
    "table": (".csv", read_table),
    "yaml": (".yaml", read_yaml),
    "zip": (".zip", _read_zip),
    "digest": (".onnx", digest_of),
    "within": (".txt", lambda path: read_within(path, "limits.text_mb")),
    "size": (".txt", lambda path: require_size(path, "limits.text_mb")),
    "plain": (".txt", open_regular),
    "picture": (".png", read_picture),
    "bytes": (".bin", _read_kind("bytes")),
    "sound": (".wav", _read_kind("sound")),
    "array inputs": (".npz", _read_kind("tensors")),
    **{f"signature of {s}": (s, read_signature) for s in (".onnx", ".tflite", ".keras", ".h5")},
    **{f"classifier of {s}": (s, _open_classifier) for s in (".onnx", ".tflite", ".keras", ".h5")},
}


def _pipe(path):
    os.mkfifo(path)


def _link(target):
    return lambda path: path.symlink_to(target)


@pytest.fixture
def in_time():
    """Ends a reader that waits, or that reads without an end."""

    def end(*_):
        raise TimeoutError("it did not end")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize(
    "make",
    [_pipe, _link("/dev/null"), _link("/dev/zero"), _link("/dev/tty"), _link("/dev/stdin")],
    ids=["pipe", "null", "zero", "tty", "stdin"],
)
@pytest.mark.parametrize("name", READERS)
def test_no_reader_waits_for_a_pipe_or_reads_a_device(tmp_path, monkeypatch, name, make):
    suffix, read = READERS[name]
    path = tmp_path / f"strange{suffix}"
    make(path)
    opened, system_open = [], os.open
    monkeypatch.setattr(os, "open", lambda p, *a, **k: opened.append(p) or system_open(p, *a, **k))
    with pytest.raises((UserError, OSError)) as told:
        read(path)
    assert not isinstance(told.value, TimeoutError)
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
