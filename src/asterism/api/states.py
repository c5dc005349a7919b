"""Hidden states of a recurrent network of the caller's, step by step."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.api.inputs import as_given
from asterism.api.models import is_file, is_torch_module
from asterism.core.messages.console import log_within_a_program
from asterism.core.messages.errors import UserError
from asterism.data.given.reading import Arrays
from asterism.models.recurrent.model import RecurrentModel

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class HiddenStates:
    """What a recurrent network computes, step by step.

    Attributes:
        layer: whose states these are.
        states: float32 ``(N, T, H)``.
        probabilities: of classes, float32 ``(N, K)``.
    """

    layer: str
    states: NDArray[np.float32]
    probabilities: NDArray[np.float32]

    def to_frame(self) -> pl.DataFrame:
        """A table of Polars with a row for each sequence and step: the state in columns."""
        import polars as pl

        count, steps, width = self.states.shape
        rows = self.states.reshape(-1, width)
        return pl.DataFrame(
            {
                "sequence": np.repeat(np.arange(count), steps),
                "step": np.tile(np.arange(steps), count),
                **{f"state_{i}": rows[:, i] for i in range(width)},
            }
        )

    def _repr_html_(self) -> str:
        count, steps, width = self.states.shape
        return f"<p>{count} sequences, {steps} steps, states of {width} numbers</p>"


def states(model: Any, sequences: Any, *, layer: str | None = None) -> HiddenStates:
    """The hidden states of one layer of a recurrent network, for all steps of some sequences.

    Args:
        model: a Keras or ONNX file, a model of Keras, or a module of PyTorch that ends in scores of
            classes ``(N, K)``.
        sequences: an array or tensor ``(N, T, F)``, ``(N, T)`` of tokens, or a data set of such.
        layer: the layer; None for the last recurrent one.

    Raises:
        UserError: there is no such layer, or the network takes no such sequences.
    """
    log_within_a_program()
    given = as_given(sequences)
    if not isinstance(given, Arrays):
        raise UserError("sequences are arrays: read the file first")
    with ExitStack() as after:
        network = RecurrentModel(_engine(model, layer, given, after))
        probabilities, found = network.run(given.items)
    return HiddenStates(network.layer, found, probabilities)


def _engine(model: Any, layer: str | None, given: Arrays, after: ExitStack) -> Any:
    if is_file(model):
        from asterism.models.recurrent.isolated import IsolatedEngine

        return IsolatedEngine(Path(model), layer)
    keras = sys.modules.get("keras")
    if keras is not None and isinstance(model, keras.Model):
        from asterism.models.recurrent.engines import engine_for

        return engine_for(model, layer)
    if is_torch_module(model):
        from asterism.models.recurrent.torch_engine import TorchEngine
        from asterism.models.runtimes.torch_modules import evaluating

        after.enter_context(evaluating(model))
        return TorchEngine(model, layer, given.items)
    raise UserError(f"{type(model).__name__} is no recurrent network of Keras, ONNX or PyTorch")
