"""Hostile text in each string of a model's file: no consumer makes source of it.

Files are either packed, with texts in all places in which a file with any text is still read, or
have one text in one place, and most readers reject them.
"""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import h5py
import numpy as np
import pytest

from asterism.core.messages.errors import UserError
from asterism.models import isolated_model
from hostile_text import MARK, TEXTS, environment_of_children, noted_by_children, watched
from models.small_litert import lite_streaming, lite_variable
from readers import consumers, formats, onnx_models
from readers.formats import Change, changed_json
from thinning import every

#: Texts in whose place any text may stand of those that TensorFlow takes as names of layers.
NAMED = {"network", "pixels", "conv", "flat", "hidden", "scores"}
NAMES = (MARK, f"{MARK}.x>1-y", f"lambda.{MARK}")
#: Texts in whose place any text of a line may stand, and the file is still read.
FREE = {
    ".keras": {"keras_version", "3.15.1", "date_saved", "registered_name", "sparse", "optional",
               "compile_config", "lstm_cell", "flatten"},
    ".h5": {"backend", "tensorflow", "keras_version", "registered_name", "module", "sparse",
            "kernel", "recurrent_kernel", "bias", "top_level_model_weights"},
}  # fmt: skip
PLAIN = tuple(text for text in TEXTS if text.isprintable())
#: Texts that have nothing to run, and are hard to write or to show.
STRANGE = ("'\"\"\"'''", "größe", "def", "", "a\nb", "\u202ea", "\x1b[31m", "\\", "x" * 10**6)


def network():
    """A classifier of images 8×8×1 with a layer of each kind that the consumers look at."""
    from keras import Input, Sequential, layers, utils

    utils.set_random_seed(0)
    many = [
        layers.Conv2D(4, 3, activation="relu", name="conv"),
        layers.Flatten(name="flat"),
        layers.Dense(12, activation="relu", name="hidden"),
        layers.Dense(3, activation="softmax", name="scores"),
    ]
    return Sequential([Input((8, 8, 1), name="pixels"), *many], name="network")


def sequences():
    """A recurrent network of sequences 8×4."""
    from keras import Input, Sequential, layers, utils

    utils.set_random_seed(0)
    many = [layers.LSTM(5, name="conv"), layers.Dense(3, activation="softmax", name="scores")]
    return Sequential([Input((8, 4), name="pixels"), *many], name="network")


def _onnx(make):
    return lambda path: path.write_bytes(make().SerializeToString())


#: Who writes a whole file, and what is done with it.
KINDS = {
    "images.keras": (lambda path: network().save(path), consumers.OF_KERAS),
    "images.h5": (lambda path: network().save(path), consumers.OF_KERAS),
    "sequences.keras": (lambda path: sequences().save(path), consumers.OF_SEQUENCES),
    "sequences.h5": (lambda path: sequences().save(path), consumers.OF_SEQUENCES),
    "images.tflite": (
        lambda path: network().export(path, format="litert", verbose=False),
        (*consumers.OF_ALL, *consumers.OF_IMAGES),
    ),
    "variable.tflite": (lite_variable, consumers.OF_ALL),
    "streaming.tflite": (lite_streaming, consumers.OF_ALL[:2]),
    "plain.onnx": (_onnx(onnx_models.plain), consumers.OF_ONNX),
    "strings.onnx": (_onnx(onnx_models.of_all_strings), consumers.OF_ONNX),
    "recurrent.onnx": (_onnx(onnx_models.recurrent), consumers.OF_ONNX),
}
#: What the fast tests try.
QUICK = (
    "served_signature images.keras", "rebuild images.keras", "obtain images.keras",
    "run_rnn sequences.h5", "read_signature variable.tflite", "run_on_zeros variable.tflite",
    "localise variable.tflite", "run_classifier strings.onnx", "run_in_onnx2torch plain.onnx",
)  # fmt: skip


def rows(*suffixes):
    """All consumers and the kinds of files that they use."""
    return [
        pytest.param(use, kind, id=name, marks=[] if name in QUICK else [pytest.mark.slow])
        for kind, (_, uses) in KINDS.items()
        for use, name in ((use, f"{use.__name__} {kind}") for use in uses)
        if kind.endswith(suffixes)
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Gives the content of a whole file."""
    folder, made = tmp_path_factory.mktemp("whole"), {}

    def make(kind):
        if kind not in made:
            KINDS[kind][0](folder / kind)
            made[kind] = (folder / kind).read_bytes()
        return made[kind]

    return make


def packed(content, suffix, turn):
    """New texts in all places where they may stand, another one in each file."""
    texts, new = texts_in(content), {}
    for number, old in enumerate(texts):
        if suffix == ".tflite":
            new[old] = f"{PLAIN[(number + turn) % len(PLAIN)]}#{number}"
        elif old in NAMED:
            new[old] = f"{NAMES[(number + turn) % len(NAMES)]}{number}"
        elif old in FREE[suffix]:
            new[old] = f"{PLAIN[(number + turn) % len(PLAIN)]}#{number}"
    assert len(new) > 7
    return new


def alone(content, suffix, turn=0):
    """A new text in one place each, where not any may stand."""
    for number, old in enumerate(texts_in(content)):
        kinds = (*TEXTS, *STRANGE) if suffix == ".onnx" or old in NAMED else (*PLAIN, *NAMES)
        if suffix == ".tflite":
            kinds = (*(text for text in TEXTS if text not in PLAIN), *STRANGE)
        yield {old: kinds[(number + turn) % len(kinds)]}


def run_on(use, kind, content, many, tmp_path, monkeypatch):
    """Which files with other texts a consumer works with; no text of theirs becomes source."""
    monkeypatch.setenv("ASTERISM_STATE_ROOT", str(tmp_path / "state"))
    for name, value in environment_of_children(tmp_path / "children").items():
        monkeypatch.setenv(name, value)
    # A process is watched from its start on: none is forked from one that has started before.
    monkeypatch.setattr(isolated_model, "fork_server", lambda _process: None)
    worked = []
    with watched() as seen:
        for number, new in enumerate(many):
            path, folder = tmp_path / f"{number}{kind}", tmp_path / str(number)
            path.write_bytes(with_texts(content, new))
            folder.mkdir()
            worked.append(works(use, path, folder))
    processes, noted = noted_by_children(tmp_path / "children")
    assert seen == noted == []
    assert processes > 0 or use not in consumers.APART
    return worked


def works(use, path, folder):
    """Whether a consumer works with a file; else one line of its own names the file."""
    try:
        use(path, folder)
    except UserError as error:
        assert path.name in str(error) and "\n" not in str(error)
        return False
    finally:
        if path.suffix in (".keras", ".h5"):
            import keras

            keras.utils.clear_session(free_memory=False)
    return True


def suffix_of(kind):
    return kind[kind.index(".") :]


@pytest.mark.parametrize(("use", "kind"), rows(".keras", ".h5", ".tflite"))
def test_no_text_of_a_file_that_is_read_becomes_source(use, kind, whole, tmp_path, monkeypatch):
    content = whole(kind)
    many = [packed(content, suffix_of(kind), turn) for turn in range(2)]
    assert run_on(use, kind, content, many, tmp_path, monkeypatch) == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize(("use", "kind"), rows(".keras", ".h5", ".tflite"))
def test_no_text_that_most_readers_reject_becomes_source(use, kind, whole, tmp_path, monkeypatch):
    # HDF5's own process is a consumer of its own above, and takes a second each time.
    reading = "asterism.models.keras_models.reading"
    monkeypatch.setattr(f"{reading}.require_readable_hdf5", lambda path: None)
    step = 8 if use in consumers.APART and suffix_of(kind) != ".tflite" else 1
    many = [*alone(whole(kind), suffix_of(kind))][::step]
    worked = run_on(use, kind, whole(kind), many, tmp_path, monkeypatch)
    reads_all = use in consumers.OF_CONFIGURATION and suffix_of(kind) != ".tflite"
    assert len(worked) > 5 if reads_all else worked.count(False) > len(worked) / 2


@pytest.mark.parametrize("turn", every(len(TEXTS), range(len(TEXTS))))
@pytest.mark.parametrize(("use", "kind"), rows(".onnx"))
def test_no_text_of_an_onnx_file_becomes_source(use, kind, turn, whole, tmp_path, monkeypatch):
    many = [*alone(whole(kind), ".onnx", turn)][:: 1 if turn else 4]
    run_on(use, kind, whole(kind), many, tmp_path, monkeypatch)


@pytest.mark.parametrize("text", every(3, [TEXTS[0], "größe", "def"]))
def test_a_plain_text_of_a_litert_file_may_mean_anything_elsewhere(text, whole, tmp_path):
    content = whole("streaming.tflite")
    for place in texts_in(content):
        path = tmp_path / f"{place}.tflite"
        path.write_bytes(with_texts(content, {place: text}))
        assert works(consumers.signature, path, tmp_path)
        assert works(consumers.OF_ALL[1], path, tmp_path)


def with_names(content: bytes, change: Change) -> bytes:
    """An HDF5 file after a change of all names and texts."""
    target = io.BytesIO()
    with h5py.File(io.BytesIO(content)) as old, h5py.File(target, "w") as new:
        parts = [("", old)]
        old.visititems(lambda name, part: parts.append((name, part)))
        for name, part in parts:
            there = _of_path(change, name)
            if isinstance(part, h5py.Dataset):
                copied = new.create_dataset(there, data=part[()])
            else:
                copied = new.require_group(there) if name else new
            for key, value in part.attrs.items():
                copied.attrs[change(key)] = _of_attribute(value, change)
    return target.getvalue()


def _of_attribute(value: Any, change: Change) -> Any:
    if isinstance(value, str) and value.startswith("{"):
        return changed_json(value, change)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([*map(partial(_of_path, change), value.tolist())], object)
    return _of_path(change, value) if isinstance(value, str) else value


def _of_path(change: Change, name: str) -> str:
    return "/".join(change(part) for part in name.split("/"))


texts_in = partial(formats.texts_in, edit_h5=with_names)
with_texts = partial(formats.with_texts, edit_h5=with_names)
