"""A network's graph, run by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.models.recurrent.model import Floats, Inputs
from asterism.models.runtimes.formats.onnx import open_session


class OnnxEngine:
    """A graph with one input; its first two outputs are the results.

    Each call has one thread: several blocks at once use the processors better than one block
    divided.

    Args:
        graph: a serialised ONNX model.
        layer: name of the layer whose states are the second output.
        steps: length of a sequence, None for any.
        features: width of a step, None for any.
        batch: the number of sequences that the graph insists on, None for any.
        numbers: dtype of the input where it is ``(B, T)``; None where it is float32 ``(B, T, F)``.
    """

    threads = True

    def __init__(
        self,
        graph: bytes,
        layer: str,
        steps: int | None,
        features: int | None,
        batch: int | None,
        numbers: str | None = None,
    ) -> None:
        self._session = open_session(graph, "the network")
        self.graph = graph
        self._input = self._session.get_inputs()[0].name
        self._outputs = [output.name for output in self._session.get_outputs()[:2]]
        self.layer, self.steps, self.features, self.batch = layer, steps, features, batch
        self.numbers = numbers

    @property
    def form(self) -> dict[str, Any]:
        """The arguments beside the graph; ``numbers`` only where there is one."""
        form = {
            "layer": self.layer,
            "steps": self.steps,
            "features": self.features,
            "batch": self.batch,
        }
        return form | ({} if self.numbers is None else {"numbers": self.numbers})

    def compute(self, sequences: Inputs) -> tuple[Floats, Floats]:
        """See :class:`~asterism.models.recurrent.model.Engine`."""
        try:
            outputs, states = self._session.run(self._outputs, {self._input: sequences})
        except Exception as error:
            raise UserError(f"ONNX Runtime cannot run the network: {error}") from error
        return np.asarray(outputs, np.float32), np.asarray(states, np.float32)


def require_finite(weights: Iterable[tuple[str, NDArray[Any]]]) -> None:
    """Reject a network that is broken in a way that its outputs do not show.

    ONNX Runtime clips the gates of recurrent operators, which makes finite numbers of NaN.

    Args:
        weights: arrays with their names.

    Raises:
        UserError: one of them holds NaN or infinity.
    """
    for name, values in weights:
        if not np.isfinite(values).all():
            raise UserError(f"the network's weights {name} hold NaN or infinity")
