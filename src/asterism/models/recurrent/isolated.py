"""A recurrent network of the user's, run in processes of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from asterism.models.isolation.isolated_model import Arrays, IsolatedModel, Served
from asterism.models.recurrent.engines import open_engine
from asterism.models.recurrent.model import Floats, Inputs
from asterism.models.recurrent.onnx_engine import OnnxEngine


class IsolatedEngine(IsolatedModel):
    """The :class:`~asterism.models.recurrent.model.Engine` of a file, in other processes.

    It computes what the engine would in this process, from
    :func:`~asterism.models.recurrent.engines.open_engine`.

    Args:
        path: the network's file.
        layer: whose states to give; None for the last recurrent layer.

    Attributes:
        form: the arguments with which :class:`OnnxEngine` runs the graph; None where Keras runs
            the network.

    Raises:
        UserError: the file cannot be opened, crashes its process, or takes too long.
    """

    def __init__(self, path: Path, layer: str | None) -> None:
        super().__init__(path, served_engine, [str(path), layer])
        self.form: dict[str, Any] | None = self.facts["form"]
        self.steps: int | None = self.facts["steps"]
        self.features: int | None = self.facts["features"]
        self.numbers: str | None = self.facts["numbers"]
        self.batch: int | None = self.facts["batch"]
        self.layer: str = self.facts["layer"]
        self.threads: bool = self.facts["threads"]

    @property
    def graph(self) -> bytes:
        """The graph that ONNX Runtime runs; nothing where Keras runs the network."""
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


#: What is told of an opened engine.
_FACTS = ("steps", "features", "numbers", "batch", "layer", "threads")


def served_engine(path: str, layer: str | None) -> Served:
    """A network as :class:`IsolatedEngine` opens it in the other process.

    Asked about nothing it tells its graph.
    """
    engine = open_engine(Path(path), layer)
    form, graph = (engine.form, engine.graph) if isinstance(engine, OnnxEngine) else (None, b"")
    facts = {"form": form} | {name: getattr(engine, name) for name in _FACTS}

    def answer(arrays: Arrays) -> Arrays:
        return engine.compute(arrays[0]) if arrays else [np.frombuffer(graph, np.uint8)]

    return facts, answer
