"""What ``train_rnn`` leaves behind: a recurrent network's file, and how to run it.

Beside the network's own file lies the graph that ONNX Runtime runs, where there is one. So later
stages start at once, without the library that the network was made with.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asterism.core.artifacts import read_json, replacing, write_json
from asterism.models.classes import require_score_for_each
from asterism.models.keras_files import save_keras
from asterism.models.params import RnnFile
from asterism.models.recurrent import RecurrentModel, open_rnn
from asterism.models.recurrent.isolated import IsolatedEngine
from asterism.models.recurrent.onnx_session import OnnxEngine
from asterism.models.recurrent.opening import open_engine, told

if TYPE_CHECKING:
    import keras

_GRAPH, _NOTE = "graph.onnx", "rnn.json"


def save_trained(model: keras.Model, folder: Path) -> RecurrentModel:
    """Store a network that was trained here; its last recurrent layer is profiled."""
    file = folder / "model.keras"
    save_keras(model, file)
    engine = open_engine(file, None)
    form = None
    if isinstance(engine, OnnxEngine):
        with replacing(folder / _GRAPH) as temporary:
            temporary.write_bytes(engine.graph)
        form = engine.form
    _note(file, None, form, isolated=False)
    return told(RecurrentModel(engine), file)


def store_file(params: RnnFile, classes: int, folder: Path) -> RecurrentModel:
    """Store the user's own network in one file, whole.

    The file is opened and run in processes of its own.

    Args:
        params: the file, and the layer to profile.
        classes: how many classes the data have.
        folder: where it is stored.

    Raises:
        UserError: the file cannot be opened as a recurrent classifier, has no such layer, has
            fewer outputs than the data have classes, crashes or hangs.
    """
    source, stored = Path(params.path), folder / f"model{Path(params.path).suffix}"
    with tempfile.TemporaryDirectory() as made:
        graph = Path(made) / _GRAPH
        engine = IsolatedEngine(source, params.layer, graph)
        model = told(RecurrentModel(engine), source)
        require_score_for_each(classes, model.classes, source)
        with replacing(stored) as temporary:
            shutil.copyfile(source, temporary)
        form = None if source.suffix == ".onnx" else engine.form
        if form is not None:
            with replacing(folder / _GRAPH) as temporary:
                shutil.copyfile(graph, temporary)
    _note(stored, params.layer, form, isolated=form is None)
    return model


def open_trained(folder: Path) -> RecurrentModel:
    """The network that ``train_rnn`` stored in ``folder``, ready to run.

    The user's own runs in processes of its own, where its file says what is computed. Of a chain
    of Keras layers only the weights are the user's: their graph was written here.
    """
    facts = read_json(folder / _NOTE)
    if facts["graph"] is None:
        isolated = "isolated" in facts
        return open_rnn(folder / facts["file"], facts["layer"], isolated=isolated)
    return RecurrentModel(OnnxEngine((folder / _GRAPH).read_bytes(), **facts["graph"]))


def _note(path: Path, layer: str | None, form: dict[str, Any] | None, *, isolated: bool) -> None:
    """Write beside a network's file how to run it."""
    facts = {"file": path.name, "layer": layer, "graph": form}
    write_json(path.parent / _NOTE, facts | ({"isolated": True} if isolated else {}))
