"""Model files that refer to other files, or ask for too much: one line, and no memory."""

import json

import crafted_models as crafted
import h5py
import numpy as np
import pytest
from bounded import ROOM, answers

from asterism.core.messages.errors import UserError
from asterism.models.keras_models.hdf5 import require_plain
from asterism.models.keras_models.reading import load_keras

_KERAS = ("asterism.models.keras_models.reading:load_keras", ("tensorflow", "keras"))
_ONNX = ("onnx", "onnxruntime")
_CONFIGS = [crafted.a_billion_units, crafted.models_in_models]

#: Reader, the modules that it loads late, suffix of its files, and the crafted ones.
READERS = {
    "h5": (
        *_KERAS,
        "h5",
        [
            *map(crafted.whole_h5, crafted.HDF5),
            crafted.a_billion_units,
            crafted.texts_of_one_place,
        ],
    ),
    "h5 signatures": (
        "asterism.models.signatures.keras:keras_signature",
        (),
        "h5",
        [*map(crafted.whole_h5, crafted.HDF5), crafted.texts_of_one_place],
    ),
    "json": (
        *_KERAS,
        "json",
        [
            *map(crafted.weights_beside_json, crafted.HDF5),
            *_CONFIGS,
            crafted.layers_by_the_ten_thousand,
        ],
    ),
    "keras": (
        *_KERAS,
        "keras",
        [
            *map(crafted.weights_in_archive, crafted.HDF5),
            *_CONFIGS,
            *crafted.LARGE_OUTPUTS,
            crafted.layers_by_the_ten_thousand,
            crafted.another_member,
            crafted.weights_of_4_gb_of_zeros,
        ],
    ),
    "onnx classifiers": ("reading_models:classifier", _ONNX, "onnx", crafted.ONNX),
    "onnx recurrent": ("reading_models:recurrent", _ONNX, "onnx", crafted.ONNX),
    "tflite": (
        "reading_models:classifier",
        ("ai_edge_litert.interpreter",),
        "tflite",
        crafted.LITERT,
    ),
    "tflite signatures": (
        "asterism.models.signatures.tflite:tflite_signature",
        ("ai_edge_litert.interpreter",),
        "tflite",
        crafted.LITERT,
    ),
    "pt2": ("reading_models:classifier", ("torch", "torch.export"), "pt2", crafted.TORCH),
}
CASES = [
    pytest.param(kind, craft.__name__, id=f"{kind}: {craft.__name__}")
    for kind, (*_, many) in READERS.items()
    for craft in many
]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    found = {}
    for kind, (reader, imports, suffix, many) in READERS.items():
        folder = tmp_path_factory.mktemp("crafted")
        paths = [folder / craft.__name__ / f"{craft.__name__}.{suffix}" for craft in many]
        for craft, path in zip(many, paths, strict=True):
            path.parent.mkdir()
            craft(path)
        for path, answer in answers([(reader, paths, imports)]).items():
            found[kind, path.name.partition(".")[0]] = answer
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_crafted_model_is_one_line_and_takes_no_memory(told, kind, name):
    answer, taken = told[kind, name]
    assert answer.startswith("UserError: "), answer
    assert name in answer, "the file is named"
    assert "\n" not in answer
    assert "not enough memory" not in answer, "its size was looked at before"
    assert taken < ROOM / 2, "MB"


@pytest.mark.parametrize("edit", crafted.HDF5)
def test_what_is_not_plain_in_an_hdf5_file_is_named(edit, tmp_path):
    """The same edits without Keras: the message names the object, and what it is."""
    path = tmp_path / "w.h5"
    with h5py.File(path, "w") as file:
        file["layers/dense/kernel"] = np.ones((16, 3), np.float32)
        edit(file, "layers/dense/kernel")
    with h5py.File(path) as file, pytest.raises(UserError) as rejected:
        require_plain(file, path.read_bytes(), path)
    said = str(rejected.value)
    words = ("link", "data set", "reference", "second name", "declares", "attributes")
    assert any(word in said for word in words), said
    assert "(/" in said or "MB" in said, "the object is named"


def test_a_link_that_no_library_here_made_is_rejected(tmp_path):
    """HDF5 asks a library for what a user-defined link means."""
    path = tmp_path / "w.h5"
    with h5py.File(path, "w") as file:
        file["leading_out"] = h5py.ExternalLink("other.h5", "/x")
    content = path.read_bytes()
    at = content.find(b"leading_out")
    external = bytes([64])
    place = content.rfind(external, at - 12, at)
    assert place > 0, "the type of the link stands before its name"
    path.write_bytes(content[:place] + bytes([99]) + content[place + 1 :])
    with h5py.File(path) as file, pytest.raises(UserError, match="a link of another library's"):
        require_plain(file, path.read_bytes(), path)


@pytest.mark.parametrize("suffix", ["h5", "keras", "json"])
def test_plain_files_are_read_as_before(tmp_path, suffix):
    model = crafted.classifier()
    path = tmp_path / f"m.{suffix}"
    if suffix == "json":
        path.write_text(model.to_json())
        model.save(tmp_path / "m.h5")
    else:
        model.save(path)
    for loaded, given in zip(load_keras(path).get_weights(), model.get_weights(), strict=True):
        assert np.array_equal(loaded, given)


@pytest.mark.parametrize("suffix", ["h5", "json"])
def test_a_file_that_hdf5_reads_for_ever_is_one_line(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("asterism.models.keras_models.first_reading.PATIENCE_S", 5.0)
    crafted.groups_in_a_circle(tmp_path / "m.h5")
    path = tmp_path / f"m.{suffix}"
    if suffix == "json":
        path.write_text(crafted.classifier().to_json())
    with pytest.raises(UserError, match=rf"m\.{suffix} is damaged"):
        load_keras(path)


def test_a_file_of_which_hdf5_dies_is_one_line(tmp_path, monkeypatch):
    crafted.classifier().save(tmp_path / "m.h5")
    monkeypatch.setattr(
        "asterism.models.keras_models.first_reading.run_alone", lambda *_, **__: -11
    )
    with pytest.raises(UserError, match=r"m\.h5 is damaged: HDF5 dies of it \(SIGSEGV\)"):
        load_keras(tmp_path / "m.h5")


def test_what_is_relied_upon_of_keras_to_count_weights(tmp_path, monkeypatch):
    """Weights are counted where Keras takes their memory, which is no public place."""
    model = crafted.classifier()
    model.save(tmp_path / "m.keras")
    load_keras(tmp_path / "m.keras")
    monkeypatch.setattr("asterism.models.keras_models.limits._BYTES", 10**8)
    with pytest.raises(UserError, match=r"m\.keras asks for weights of 4,800 MB"):
        load_keras(tmp_path / "m.keras")
    monkeypatch.undo()
    load_keras(tmp_path / "m.keras")


@pytest.mark.parametrize("storage", ["link to a group", "link to all layers", "weights file"])
def test_the_weights_of_another_file_do_not_come_in(storage, tmp_path):
    """A whole layer by a link: copying follows it, so Keras' own check sees plain data."""
    own, other = crafted.classifier(), crafted.classifier()
    other.set_weights([np.full_like(w, 7) for w in other.get_weights()])
    path = tmp_path / ("m.json" if storage == "weights file" else "m.h5")
    own.save(tmp_path / "m.h5")
    other.save(tmp_path / "secret.h5")
    if storage == "weights file":
        config = json.loads(own.to_json())
        path.write_text(json.dumps({k: config[k] for k in ("class_name", "config")}))
    with h5py.File(tmp_path / "m.h5", "r+") as file:
        if storage == "link to all layers":
            del file["model_weights"]
            file["model_weights"] = h5py.ExternalLink("secret.h5", "/model_weights")
        else:
            del file["model_weights/dense"]
            file["model_weights/dense"] = h5py.ExternalLink("secret.h5", "/model_weights/dense")
    with pytest.raises(UserError, match="a link to another file"):
        load_keras(path)
