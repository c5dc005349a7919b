"""What ``train_rnn`` leaves behind: a recurrent network's file, and how to run it.

Beside the network's own file lies the graph that ONNX Runtime runs, where there is one. So later
stages start at once, without the library that the network was made with.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from asterism.core.artifacts import read_json, replacing, write_json
from asterism.models.classes import require_score_for_each
from asterism.models.keras_files import save_keras
from asterism.models.params import RnnFile
from asterism.models.recurrent import RecurrentModel, open_rnn
from asterism.models.recurrent.onnx_session import OnnxEngine

if TYPE_CHECKING:
    import keras

_GRAPH = "graph.onnx"


def save_trained(model: keras.Model, folder: Path) -> RecurrentModel:
    """Store a network that was trained here; its last recurrent layer is profiled."""
    save_keras(model, folder / "model.keras")
    return _describe(folder / "model.keras", None)


def store_file(params: RnnFile, classes: int, folder: Path) -> RecurrentModel:
    """Store the user's own network.

    Args:
        params: the file, and the layer to profile.
        classes: how many classes the data have.
        folder: where it is stored.

    Raises:
        UserError: the file cannot be opened as a recurrent classifier, has no such layer, or has
            fewer outputs than the data have classes.
    """
    source = Path(params.path)
    require_score_for_each(classes, open_rnn(source, params.layer).classes, source)
    with replacing(folder / f"model{source.suffix}") as temporary:
        shutil.copyfile(source, temporary)
    return _describe(folder / f"model{source.suffix}", params.layer)


def open_trained(folder: Path) -> RecurrentModel:
    """The network that ``train_rnn`` stored in ``folder``, ready to run."""
    facts = read_json(folder / "rnn.json")
    if facts["graph"] is None:
        return open_rnn(folder / facts["file"], facts["layer"])
    return RecurrentModel(OnnxEngine((folder / _GRAPH).read_bytes(), **facts["graph"]))


def _describe(path: Path, layer: str | None) -> RecurrentModel:
    """Write beside a network's file how to run it."""
    model = open_rnn(path, layer)
    form = None
    if isinstance(engine := model.engine, OnnxEngine):
        with replacing(path.parent / _GRAPH) as temporary:
            temporary.write_bytes(engine.graph)
        form = {
            "layer": engine.layer,
            "steps": engine.steps,
            "features": engine.features,
            "batch": engine.batch,
        }
    write_json(path.parent / "rnn.json", {"file": path.name, "layer": layer, "graph": form})
    return model
