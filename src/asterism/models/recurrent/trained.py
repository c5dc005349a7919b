"""What ``train_rnn`` leaves behind: a recurrent network's file, and how to run it.

Beside the network's own file lies the graph that ONNX Runtime runs, where there is one. So later
stages start at once, without the library that the network was made with.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from asterism.core.files.artifacts import read_json, replacing, write_json
from asterism.core.messages.errors import UserError, reading
from asterism.core.parameters.params import ParameterSection
from asterism.models.foreign.onnx_files import read_renamed_onnx
from asterism.models.images_and_scores import require_score_for_each
from asterism.models.keras_models.reading import save_keras
from asterism.models.params import RnnFile
from asterism.models.recurrent import RecurrentModel, open_rnn
from asterism.models.recurrent.model import SequenceForm
from asterism.models.recurrent.onnx_engine import OnnxEngine
from asterism.models.recurrent.opening import IsolatedEngine, model_of, open_engine

if TYPE_CHECKING:
    import keras

_GRAPH, _NOTE = "graph.onnx", "rnn.json"


def save_trained(model: keras.Model, folder: Path) -> RecurrentModel:
    """Store a network that was trained here; its last recurrent layer is profiled."""
    file = folder / "model.keras"
    save_keras(model, file)
    engine = open_engine(file, None)
    graph = engine.graph if isinstance(engine, OnnxEngine) else b""
    _describe(file, None, engine.form, graph, isolated=False)
    return model_of(engine, file)


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
    engine = IsolatedEngine(source, params.layer)
    model = model_of(engine, source)
    require_score_for_each(classes, model.classes, source)
    with replacing(stored) as temporary:
        shutil.copyfile(source, temporary)
    graph = b"" if source.suffix == ".onnx" else engine.graph
    _describe(stored, params.layer, engine.form, graph, isolated=not graph)
    return model


def open_trained(folder: Path) -> RecurrentModel:
    """The network that ``train_rnn`` stored in ``folder``, ready to run.

    A user's own network runs in processes of its own where the file determines what is computed.
    Of a chain of Keras layers only the weights are the user's: the graph was written here.

    Raises:
        UserError: what lies there was not written by this module, or cannot be opened.
    """
    note = _read_note(folder / _NOTE)
    file, graph = folder / note.file, folder / _GRAPH
    if note.graph is None:
        isolated = note.isolated or file.suffix == ".onnx"
        return open_rnn(file, note.layer, isolated=isolated)
    return RecurrentModel(OnnxEngine(_written_here(graph), note.graph))


def trained_file(folder: Path) -> Path:
    """The network's own file in ``folder``, as :func:`open_trained`."""
    return folder / _read_note(folder / _NOTE).file


class _Note(ParameterSection):
    """What lies beside a network's file."""

    file: Literal["model.keras", "model.h5", "model.hdf5", "model.onnx", "model.pt2"]
    layer: str | None
    graph: SequenceForm | None = None
    isolated: bool = False


def _read_note(path: Path) -> _Note:
    document = read_json(path)
    with reading(str(path)):
        return _Note.model_validate(document)


def _written_here(path: Path) -> bytes:
    """A graph that this package has written; it runs in the stage's own process.

    Raises:
        UserError: it has other operations, such as loops.
    """
    from asterism.models.recurrent.onnx_graph import OPERATIONS

    file = read_renamed_onnx(path)
    used = {f"{node.domain}{node.op_type}" for node in file.model.graph.node}
    if others := sorted(used - OPERATIONS):
        raise UserError(
            f"{path} holds {others[0]!a}, which train_rnn does not write: remove the file and "
            "give the same command again"
        )
    return file.content


def _describe(
    path: Path, layer: str | None, form: SequenceForm, graph: bytes, *, isolated: bool
) -> None:
    """Write beside a network's file how to run it, and the graph that is run, if there is one."""
    facts: dict[str, Any] = {"file": path.name, "layer": layer, "graph": None}
    if graph:
        with replacing(path.parent / _GRAPH) as temporary:
            temporary.write_bytes(graph)
        facts["graph"] = form.model_dump(exclude_defaults=True)
    write_json(path.parent / _NOTE, facts | ({"isolated": True} if isolated else {}))
