"""ONNX files as judged models: their activations are recorded, and they have no relevance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.methods import PixelNetwork
from asterism.core.messages.errors import UserError, attempting
from asterism.core.settings import machine
from asterism.deepimportance.composites import Composite
from asterism.deepimportance.judged_model import (
    Floats,
    JudgedModel,
    Recorder,
    are_pictures,
    over_batches,
)
from asterism.deepimportance.onnx_layers import OnnxLayers
from asterism.deepimportance.relevance import NoRelevanceError
from asterism.models.foreign.onnx_files import read_renamed_onnx
from asterism.models.formats.onnx import open_session
from asterism.models.images_and_scores import PreprocessingParams, model_input
from asterism.models.onnx_graphs import with_outputs
from asterism.models.signatures.onnx import signature_of

#: Types of real numbers, as ONNX Runtime writes them.
_FLOATS = ("tensor(float)", "tensor(float16)", "tensor(double)")

Array = NDArray[Any]


class JudgedOnnx(JudgedModel):
    """An ONNX file, run by ONNX Runtime.

    Layers are the floating tensors of the graph whose first axis counts the inputs: a node's first
    output has the node's name, unless something else has it too, and others have their own.

    Args:
        path: the file, with one input and one output of real numbers ``(N, K)``; further outputs,
            such as labels, have another type or form.
        example: some inputs, ``(n, …)``, as the model takes them; or pictures, uint8
            ``(n, H, W, C)``.
        preprocessing: what pictures go through before their channels are put where the file takes
            them.

    Raises:
        UserError: it cannot be opened or run, or has other inputs and outputs.
    """

    def __init__(self, path: Path, example: Array, preprocessing: PreprocessingParams) -> None:
        file = read_renamed_onnx(path)
        inputs = signature_of(file, path).inputs
        if len(inputs) != 1:
            raise UserError(f"{path} has {len(inputs)} inputs; models of one input are judged")
        self.name, self._path = path.name, path
        self._model, (self._spec,) = file.model, inputs
        self._preprocessing, self._pictures = preprocessing, are_pictures(example)
        self._item = tuple(example.shape[1:])
        self._fixed = self._spec.shape[0] if self._spec.shape else None
        _, *sides, channels = example.shape
        self._channels_first = self._pictures and self._takes((channels, *sides))
        self.require(example)
        graph = self._model.graph
        constants = {constant.name for constant in graph.initializer}
        (self._input,) = (v.name for v in graph.input if v.name not in constants)
        tensors = {name: node for node in graph.node for name in node.output if name}
        found = self._shapes_of(list(tensors), example)
        self._graph = OnnxLayers(graph, self._input, {n: len(s) for n, s in found.items()})
        ends = [v.name for v in graph.output if len(found.get(v.name, ())) == 2]
        if len(ends) != 1:
            raise UserError(
                f"{path} has {len(ends)} outputs of real numbers (N, K); models of one are judged"
            )
        (self._scores,) = ends
        self.outputs = found[self._scores][1]
        self._shapes = {name: found[name] for name in self._graph.axes}
        own = {tensor: file.names.theirs(tensor) for tensor in self._shapes}
        self._tensors: dict[str, str] = {}
        for tensor in self._shapes:
            node = tensors[tensor]
            name = file.names.theirs(node.name) if tensor == node.output[0] else ""
            taken = not name or name in self._tensors or name in own.values()
            self._tensors[own[tensor] if taken else name] = tensor
        self.layers = list(self._tensors)

    def require(self, items: Array) -> None:
        """See :meth:`.JudgedModel.require`; real numbers are no integers either."""
        *sides, channels = items.shape[1:]
        shape = (channels, *sides) if self._channels_first else items.shape[1:]
        fits = items.dtype.kind in "iub" or self._spec.dtype.startswith("float")
        if not fits or not self._takes(shape) or are_pictures(items) != self._pictures:
            raise UserError(
                f"{self.name} takes {self._spec}, not {items.dtype} {tuple(items.shape[1:])}"
            )

    def hidden_layers(self) -> list[str]:
        """See :meth:`.JudgedModel.hidden_layers`; where none has weights, all others count."""
        found = self._graph.hidden(self._scores)
        if not found:
            raise UserError(f"the model {self.name!r} has no hidden layer")
        return [name for name, tensor in self._tensors.items() if tensor in found]

    def shape(self, layer: str) -> tuple[int | None, ...]:
        """See :meth:`.JudgedModel.shape`."""
        tensor = self._tensors[layer]
        sizes, axis = self._shapes[tensor], self._graph.axes[tensor]
        return (None, *sizes[1:axis], *sizes[axis + 1 :], sizes[axis])

    def recorder(self, layers: Sequence[str]) -> Recorder:
        """See :meth:`.JudgedModel.recorder`."""
        tensors = [self._tensors[name] for name in layers]
        run = self._runner([*tensors, self._scores])

        def recorded(items: Array) -> tuple[list[Floats], Floats]:
            def of_batch(rows: NDArray[np.int64]) -> list[Floats]:
                values = run(items[rows])
                hidden = [_over_places(values[t], self._graph.axes[t]) for t in tensors]
                return [*hidden, values[self._scores].astype(np.float32)]

            *hidden, output = over_batches(of_batch, len(items), self._fixed)
            return hidden, output

        return recorded

    def explainer(self, layer: str, composite: Composite) -> Never:
        """There are no rules; see :meth:`.JudgedModel.explainer`."""
        raise NoRelevanceError("relevance has no rules for the nodes of an ONNX file")

    def pixel_explainer(self, composite: Composite) -> Never:
        """There are no rules; see :meth:`.JudgedModel.pixel_explainer`."""
        self.explainer("", composite)

    def on_pixels(self) -> PixelNetwork:
        """See :meth:`.JudgedModel.on_pixels`; it gives no gradients."""
        if not self._pictures or not self._spec.dtype.startswith("float"):
            raise UserError(
                f"{self.name} cannot be attacked: only networks of pictures, uint8 (N, H, W, C), "
                "can be, which take them as real numbers"
            )
        return _OnnxPixels(self, self._item)

    def _takes(self, shape: tuple[int, ...]) -> bool:
        """Whether an input of the file may have this shape."""
        wanted = self._spec.shape[1:]
        both = zip(wanted, shape, strict=False)
        return len(wanted) == len(shape) and all(one in (None, other) for one, other in both)

    def _given(self, items: Array) -> Array:
        """What the file takes; pictures also as pixels in [0, 1]."""
        if self._pictures and self._spec.dtype.startswith("float"):
            items = model_input(items, self._preprocessing)
        if self._channels_first:
            items = np.moveaxis(items, -1, 1)
        return np.ascontiguousarray(items, self._spec.dtype)

    def _runner(self, tensors: Sequence[str]) -> Callable[[Array], dict[str, Array]]:
        """A function that gives the floating ones of some tensors, of a batch."""
        content = with_outputs(self._model, tensors).SerializeToString()
        session = open_session(content, str(self._path), machine.device())
        kinds = {value.name: value.type for value in session.get_outputs()}
        floats = [name for name in tensors if kinds[name] in _FLOATS]

        def run(items: Array) -> dict[str, Array]:
            with attempting(f"run {self._path}"):
                given = {self._input: self._given(items)}
                values = session.run(floats, given) if floats else []  # none are all to it
            return dict(zip(floats, values, strict=True))

        return run

    def _shapes_of(self, tensors: Sequence[str], example: Array) -> dict[str, tuple[int, ...]]:
        """The shapes of floating tensors of which each input has its own row."""
        run, shapes = self._runner(tensors), []
        for count in (self._fixed,) if self._fixed else (2, 3):
            values = run(example[np.arange(count) % len(example)])
            rows = {n: v.shape for n, v in values.items() if v.ndim > 1 and len(v) == count}
            shapes.append(rows)
        return {name: shape for name, shape in shapes[-1].items() if name in shapes[0]}


class _OnnxPixels:
    """An ONNX file on pixels in [0, 1]; see :class:`.PixelNetwork`."""

    def __init__(self, model: JudgedOnnx, shape: tuple[int, ...]) -> None:
        self.shape, self.width, self._name = shape, model.outputs, model.name
        self._record = model.recorder(())

    def outputs(self, pixels: Floats) -> Floats:
        """See :meth:`.PixelNetwork.outputs`."""
        return self._record(pixels)[1]

    def gradient(self, pixels: Floats, weigh: object) -> Never:
        """There is none; see :meth:`.PixelNetwork.gradient`."""
        raise UserError(
            f"{self._name} has no gradients, as no ONNX file has: attacks that need none are noise"
        )

    def loss_gradient(self, pixels: Floats, targets: Floats) -> Never:
        """There is none; see :meth:`.PixelNetwork.loss_gradient`."""
        self.gradient(pixels, targets)


def _over_places(values: Array, axis: int) -> Floats:
    """``(N, neurons)``: feature maps averaged over their places."""
    moved = np.moveaxis(values, axis, -1)
    places = moved.reshape(len(moved), -1, moved.shape[-1])
    mean: Floats = places.mean(axis=1, dtype=np.float32)
    return mean
