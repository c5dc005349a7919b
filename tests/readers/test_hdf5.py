"""What is not plain in a Keras file's HDF5 is named, and what is plain is read as it was."""

import h5py
import numpy as np
import pytest

from asterism.core.messages.errors import UserError
from asterism.models.keras_models.hdf5 import require_plain
from asterism.models.keras_models.reading import load_keras
from models.model_files import keras_model
from readers.crafted_keras import HDF5


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
    monkeypatch.setattr(
        "asterism.models.keras_models.first_reading.run_alone", lambda *_, **__: -11
    )
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
