"""Opening a recurrent network from its file, in this process or in others."""

from __future__ import annotations

from pathlib import Path

from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import naming
from asterism.models.recurrent.engines import open_engine
from asterism.models.recurrent.isolated import IsolatedEngine
from asterism.models.recurrent.model import Engine, RecurrentModel

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
