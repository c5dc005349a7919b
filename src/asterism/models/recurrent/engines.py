"""The engine for a network: the fastest one that computes it faithfully.

Measured on 4 cores with an LSTM of 128 units over 28 rows, all hidden states wanted: ONNX Runtime
65,000 sequences/s, PyTorch 45,000, XLA 29,000, ``tf.function`` 21,000, Keras' ``predict``
6,000. So a Keras model's weights are written into an ONNX graph where its layers allow it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.models.recurrent.model import Engine

if TYPE_CHECKING:
    import keras

log = get_logger(__name__)


def open_engine(path: Path, layer: str | None) -> Engine:
    """The engine for the network of a file, in this process.

    See :func:`asterism.models.recurrent.opening.open_rnn`.
    """
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
    from asterism.models.recurrent.onnx_engine import require_finite
    from asterism.models.recurrent.onnx_graph import NotExpressible, write_graph

    require_finite((weight.path, weight.numpy()) for weight in model.weights)
    profiled = find_layer(model, layer)
    try:
        return write_graph(layer_chain(model), profiled)
    except NotExpressible as reason:
        log.warning("Keras runs the network, which is slower", reason=str(reason))
    return KerasEngine(model, profiled)
