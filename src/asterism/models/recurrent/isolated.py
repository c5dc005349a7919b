"""A recurrent network of the user's, run in processes of its own."""

from __future__ import annotations

from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any

from asterism.core.files.artifacts import replacing
from asterism.models.isolation.isolated_model import Arrays, IsolatedModel, ModelHangError, Served
from asterism.models.recurrent.model import Engine, Floats, Inputs


class IsolatedEngine:
    """The :class:`~asterism.models.recurrent.model.Engine` of a file, in other processes.

    Threads that call it at the same time get a process each. It computes what the engine would in
    this process, from :func:`~asterism.models.recurrent.opening.open_engine`.

    Args:
        path: the network's file.
        layer: whose states to give; None for the last recurrent layer.
        graph: where to write the graph that ONNX Runtime runs, where there is one; None for
            nowhere.

    Attributes:
        form: the arguments with which :class:`OnnxEngine` runs the graph; None where Keras runs
            the network.

    Raises:
        UserError: the file cannot be opened, crashes its process, or takes too long.
    """

    def __init__(self, path: Path, layer: str | None, graph: Path | None = None) -> None:
        self._opening = (path, layer)
        self._hung = ""
        self._idle: LifoQueue[IsolatedModel] = LifoQueue()
        first = IsolatedModel(path, open_served, [str(path), layer, graph and str(graph)])
        self._idle.put(first)
        self.form: dict[str, Any] | None = first.facts["form"]
        self.steps: int | None = first.facts["steps"]
        self.features: int | None = first.facts["features"]
        self.numbers: str | None = first.facts["numbers"]
        self.batch: int | None = first.facts["batch"]
        self.layer: str = first.facts["layer"]
        self.threads: bool = first.facts["threads"]

    def compute(self, sequences: Inputs) -> tuple[Floats, Floats]:
        """See :class:`~asterism.models.recurrent.model.Engine`.

        Raises:
            UserError: the network fails, crashes its process, or did not answer in time, now or in
                an earlier call.
        """
        if self._hung:
            raise ModelHangError(self._hung)
        try:
            model = self._idle.get_nowait()
        except Empty:
            path, layer = self._opening
            model = IsolatedModel(path, open_served, [str(path), layer, None])
        try:
            outputs, states = model.ask([sequences])
        except ModelHangError as error:
            self._hung = str(error)
            raise
        finally:
            self._idle.put(model)
        return outputs, states

    def close(self) -> None:
        """End the processes."""
        while not self._idle.empty():
            self._idle.get_nowait().close()


def open_served(path: str, layer: str | None, graph: str | None) -> Served:
    """A network as :class:`IsolatedEngine` opens it in the other process."""
    from asterism.models.recurrent.onnx_session import OnnxEngine
    from asterism.models.recurrent.opening import open_engine

    engine: Engine = open_engine(Path(path), layer)
    form = None
    if isinstance(engine, OnnxEngine):
        form = engine.form
        if graph is not None:
            with replacing(Path(graph)) as temporary:
                temporary.write_bytes(engine.graph)
    facts = {
        "form": form,
        "steps": engine.steps,
        "features": engine.features,
        "numbers": engine.numbers,
        "batch": engine.batch,
        "layer": engine.layer,
        "threads": engine.threads,
    }
    return facts, lambda arrays: _compute(engine, arrays)


def _compute(engine: Engine, arrays: Arrays) -> Arrays:
    return engine.compute(arrays[0])
