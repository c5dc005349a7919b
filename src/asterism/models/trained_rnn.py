"""What ``train_rnn`` leaves behind: a recurrent network's file, and which layer to profile."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from asterism.core.artifacts import read_json, replacing, write_json
from asterism.models.keras_files import save_keras
from asterism.models.params import RnnFile
from asterism.models.recurrent import RecurrentModel, open_rnn

if TYPE_CHECKING:
    import keras


def save_trained(model: keras.Model, folder: Path) -> None:
    """Store a network that was trained here; its last recurrent layer is profiled."""
    save_keras(model, folder / "model.keras")
    write_json(folder / "rnn.json", {"file": "model.keras", "layer": None})


def store_file(params: RnnFile, folder: Path) -> None:
    """Store a copy of the user's own network.

    Raises:
        UserError: the file cannot be opened as a recurrent classifier, or has no such layer.
    """
    source = Path(params.path)
    open_rnn(source, params.layer)
    with replacing(folder / f"model{source.suffix}") as temporary:
        shutil.copyfile(source, temporary)
    write_json(folder / "rnn.json", {"file": f"model{source.suffix}", "layer": params.layer})


def open_trained(folder: Path) -> RecurrentModel:
    """The network that ``train_rnn`` stored in ``folder``, ready to run."""
    facts = read_json(folder / "rnn.json")
    return open_rnn(folder / facts["file"], facts["layer"])
