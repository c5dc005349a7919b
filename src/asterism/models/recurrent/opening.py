"""Opening a recurrent network from its file, by the fastest engine that computes it faithfully.

Measured on 4 cores with an LSTM of 128 units over 28 rows, all hidden states wanted: ONNX Runtime
65,000 sequences/s, PyTorch 45,000, XLA 29,000, ``tf.function`` 21,000, Keras' ``predict``
6,000. So a Keras model's weights are written into an ONNX graph where its layers allow it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError, naming
from asterism.models.recurrent.isolated import IsolatedEngine
from asterism.models.recurrent.model import Engine, RecurrentModel

if TYPE_CHECKING:
    import keras

log = get_logger(__name__)


def open_rnn(path: Path, layer: str | None, *, isolated: bool = False) -> RecurrentModel:
    """A recurrent network with the hidden states of one layer.

    Args:
        path: a Keras model (``.keras``, ``.h5``) or an ``.onnx`` file.
        layer: whose states to give; None for the last recurrent layer. In an ONNX file the name
            of an LSTM, GRU or RNN node, or of a tensor ``(N, T, H)``.
        isolated: run it in processes of its own, which costs time: for a file that may crash its
            process or never answer.

    Raises:
        UserError: unreadable, of the wrong form, no such layer, no recurrent layer, or weights of
            NaN or infinity; or, isolated, it crashes or hangs.
    """
    with naming(path):
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
        from asterism.models.recurrent.onnx_file import open_onnx

        return open_onnx(path, layer)
    from asterism.models.keras_models.reading import KERAS_SUFFIXES, load_keras

    if path.suffix not in KERAS_SUFFIXES:
        raise UserError(
            f"{path} is no recurrent network: the suffix must be "
            f"{', '.join(KERAS_SUFFIXES)} or .onnx"
        )
    return engine_for(load_keras(path), layer)


def engine_for(model: keras.Model, layer: str | None) -> Engine:
    """The engine for a Keras model in memory: ONNX Runtime, else Keras itself.

    Raises:
        UserError: no such layer, no recurrent layer, or weights of NaN or infinity.
    """
    from asterism.models.recurrent.keras_engine import KerasEngine
    from asterism.models.recurrent.keras_layers import find_layer, layer_chain
    from asterism.models.recurrent.onnx_graph import NotExpressible, write_graph
    from asterism.models.recurrent.onnx_session import require_finite

    require_finite((weight.path, weight.numpy()) for weight in model.weights)
    profiled = find_layer(model, layer)
    try:
        return write_graph(layer_chain(model), profiled)
    except NotExpressible as reason:
        log.warning("Keras runs the network, which is slower", reason=str(reason))
    return KerasEngine(model, profiled)
