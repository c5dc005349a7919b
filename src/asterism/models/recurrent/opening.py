"""Opening a recurrent network from its file, in this process or in others.

The engine is the fastest one that computes the network faithfully. Measured on 4 cores with an
LSTM of 128 units over 28 rows, all hidden states wanted: ONNX Runtime 65,000 sequences/s, PyTorch
45,000, XLA 29,000, ``tf.function`` 21,000, Keras' ``predict`` 6,000. So a Keras model's weights are
written into an ONNX graph where its layers allow it.

A :class:`~asterism.models.tensor_models.model.FileModel` opens files too, and answers with outputs
alone. Here the states of a layer inside are wanted as well, for which the graph itself is changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError, name_file_in_errors
from asterism.models.isolated_model import Arrays, IsolatedModel, Served
from asterism.models.recurrent.model import (
    Engine,
    Floats,
    Inputs,
    RecurrentModel,
    SequenceForm,
)
from asterism.models.recurrent.onnx_engine import OnnxEngine, open_onnx, require_finite

if TYPE_CHECKING:
    import keras

log = get_logger(__name__)


def open_rnn(path: Path, layer: str | None, *, isolated: bool = False) -> RecurrentModel:
    """A recurrent network with the hidden states of one layer.

    Args:
        path: a Keras model (``.keras``, ``.h5``), an ``.onnx`` file or a program of PyTorch
            (``.pt2``).
        layer: whose states to give; None for the last recurrent layer. In an ONNX file the name
            of an LSTM, GRU or RNN node, or of a tensor ``(N, T, H)``.
        isolated: run it in processes of its own, which costs time: for a file that may crash its
            process or never answer.

    Raises:
        UserError: unreadable, of the wrong form, no such layer, no recurrent layer, or weights of
            NaN or infinity; or, isolated, it crashes or hangs.
    """
    with name_file_in_errors(path):
        engine = IsolatedEngine(path, layer) if isolated else open_engine(path, layer)
        return model_of(engine, path)


def model_of(engine: Engine, path: Path) -> RecurrentModel:
    """The network that an engine computes; the log says where a softmax is applied.

    Args:
        engine: opened from the network's file.
        path: that file, for the log.
    """
    model = RecurrentModel(engine)
    if model.logits:
        log.info("outputs are no probabilities; a softmax is applied", model=str(path))
    return model


def open_engine(path: Path, layer: str | None) -> Engine:
    """The engine for the network of a file, in this process; see :func:`open_rnn`."""
    if path.suffix == ".onnx":
        return open_onnx(path, layer)
    if path.suffix == ".pt2":
        from asterism.models.recurrent.torch_engine import open_torch

        return open_torch(path, layer)
    from asterism.models.keras_models.reading import KERAS_SUFFIXES, load_keras

    if path.suffix not in KERAS_SUFFIXES:
        raise UserError(
            f"{path} is no recurrent network: the suffix must be "
            f"{', '.join(KERAS_SUFFIXES)}, .onnx or .pt2"
        )
    return engine_for(load_keras(path), layer)


def engine_for(model: keras.Model, layer: str | None) -> Engine:
    """The engine for a Keras model in memory: ONNX Runtime, else Keras itself.

    Raises:
        UserError: no such layer, no recurrent layer, or weights of NaN or infinity.
    """
    from asterism.models.recurrent.keras_engine import KerasEngine, find_layer, find_layer_chain
    from asterism.models.recurrent.onnx_graph import NotExpressible, write_graph

    require_finite((weight.path, weight.numpy()) for weight in model.weights)
    profiled = find_layer(model, layer)
    try:
        return write_graph(find_layer_chain(model), profiled)
    except NotExpressible as reason:
        log.warning("Keras runs the network, which is slower", reason=str(reason))
    return KerasEngine(model, profiled)


class IsolatedEngine(IsolatedModel):
    """The :class:`~asterism.models.recurrent.model.Engine` of a file, in other processes.

    It computes what the engine of :func:`open_engine` would in this process.

    Args:
        path: the network's file.
        layer: whose states to give; None for the last recurrent layer.

    Raises:
        UserError: the file cannot be opened, crashes its process, or takes too long.
    """

    def __init__(self, path: Path, layer: str | None) -> None:
        super().__init__(path, served_engine, [str(path), layer])
        self.form = SequenceForm.model_validate(self.facts["form"])
        self.threads: bool = self.facts["threads"]
        self.notes = tuple(self.facts["notes"])

    @property
    def graph(self) -> bytes:
        """The graph that ONNX Runtime runs; empty where Keras runs the network."""
        (graph,) = self.ask([])
        return graph.tobytes()

    def compute(self, sequences: Inputs) -> tuple[Floats, Floats]:
        """See :class:`~asterism.models.recurrent.model.Engine`.

        Raises:
            UserError: the network fails, crashes its process, or did not answer in time, now or in
                an earlier call.
        """
        outputs, states = self.ask([sequences])
        return outputs, states


def served_engine(path: str, layer: str | None) -> Served:
    """A network as :class:`IsolatedEngine` opens it in the other process.

    Asked about nothing it tells its graph.
    """
    engine = open_engine(Path(path), layer)
    graph = engine.graph if isinstance(engine, OnnxEngine) else b""

    def answer(arrays: Arrays) -> Arrays:
        return engine.compute(arrays[0]) if arrays else [np.frombuffer(graph, np.uint8)]

    facts = {"form": engine.form.model_dump(), "threads": engine.threads, "notes": engine.notes}
    return facts, answer
