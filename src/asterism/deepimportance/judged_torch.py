"""Modules and exported programs of PyTorch as judged models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import fx, nn

from asterism.attacks.methods import PixelNetwork
from asterism.attacks.torch_network import TorchNetwork
from asterism.core.messages.errors import UserError
from asterism.deepimportance.composites import Composite
from asterism.deepimportance.judged_model import (
    Explainer,
    Floats,
    JudgedModel,
    PixelExplainer,
    Recorder,
    are_pictures,
    over_batches,
)
from asterism.deepimportance.network import LinearOperation
from asterism.deepimportance.relevance import (
    find_node_of_layer,
    find_relevance_carriers,
    propagate_relevance,
    require_path,
)
from asterism.deepimportance.torch_layers import (
    ACTIVATIONS,
    CHANNELS_FIRST,
    GraphCall,
    build_graph_network,
)
from asterism.models.formats import as_array
from asterism.models.images_and_scores import PreprocessingParams, model_input
from asterism.models.torch_modules import evaluation_mode


class JudgedTorch(JudgedModel):
    """A module of PyTorch, or a program or graph exported from one.

    Layers are modules by their fully qualified names, and activations that are functions by the
    names that they have in the exported graph (``relu_1``).

    Args:
        model: takes one tensor, whose first axis counts the inputs, and gives one ``(N, K)``.
        example: some inputs, ``(n, …)``, as the model takes them; or pictures, uint8
            ``(n, H, W, C)``.
        preprocessing: what pictures go through before their channels come first.

    Raises:
        UserError: it cannot be exported, or has other inputs and outputs.
    """

    def __init__(
        self,
        model: nn.Module | torch.export.ExportedProgram,
        example: NDArray[Any],
        preprocessing: PreprocessingParams,
    ) -> None:
        self.name = type(model).__name__
        self._preprocessing = preprocessing
        self._pictures = are_pictures(example)
        real = [t for t in _state(model) if t.dtype.is_floating_point]
        self._like = real[0] if real else torch.zeros(())
        module = self._exported(model, example)
        (placeholder,) = (node for node in module.graph.nodes if node.op == "placeholder")
        size = placeholder.meta["val"].shape[0]
        self._fixed = size if isinstance(size, int) else None
        low, high = self._ends(example)
        self._network, self._calls = build_graph_network(module, low, high)
        self.layers = list(self._calls)
        (ends,) = (node.args[0] for node in module.graph.nodes if node.op == "output")
        last = (ends[0] if isinstance(ends, list | tuple) else ends).meta["val"].shape
        if len(last) != 2:
            raise UserError(f"{self.name} gives outputs of shape {tuple(last)}, no scores (N, K)")
        self.outputs = int(last[1])
        self._shape = tuple(placeholder.meta["val"].shape[1:])

    def require(self, items: NDArray[Any]) -> None:
        """See :meth:`.JudgedModel.require`."""
        shape = tuple(self._given(items[:1]).shape[1:])
        if shape != self._shape:
            raise UserError(f"{self.name} takes inputs of shape {self._shape}, not {shape}")

    def hidden_layers(self) -> list[str]:
        """See :meth:`.JudgedModel.hidden_layers`."""
        place, reached = self._network.outputs_of, find_relevance_carriers(self._network)
        inner = [n for n in self.layers if place[n] in reached and place[n] < self._network.start]
        active = {place[n]: n for n in inner if self._calls[n].operator in ACTIVATIONS}
        weighing = {
            place[n]: n
            for n in inner
            if isinstance(self._network.nodes[place[n]].operation, LinearOperation)
        }
        layers = list((active or weighing).values())
        if not layers:
            raise UserError(f"the model {self.name!r} has no hidden layer")
        return layers

    def shape(self, layer: str) -> tuple[int | None, ...]:
        """See :meth:`.JudgedModel.shape`."""
        sizes = (None, *self._calls[layer].shape()[1:])
        axis = _neurons(self._calls[layer]) % len(sizes)
        return (*sizes[:axis], *sizes[axis + 1 :], sizes[axis])

    def recorder(self, layers: Sequence[str]) -> Recorder:
        """See :meth:`.JudgedModel.recorder`."""
        places = [(self._network.outputs_of[name], _neurons(self._calls[name])) for name in layers]

        def recorded(x: torch.Tensor) -> list[torch.Tensor]:
            values = self._network.values(x)
            activations = [_over_places(values[i], axis, torch.mean) for i, axis in places]
            return [*activations, values[-1]]

        def of_items(items: NDArray[Any]) -> tuple[list[Floats], Floats]:
            *hidden, output = self._by_batches(recorded, items)
            return hidden, output

        return of_items

    def explainer(self, layer: str, composite: Composite) -> Explainer:
        """See :meth:`.JudgedModel.explainer`."""
        target, axis = find_node_of_layer(self._network, layer), _neurons(self._calls[layer])

        def explained(x: torch.Tensor) -> list[torch.Tensor]:
            scores, relevance = self._relevance(x, None, composite, target)
            return [scores, _over_places(relevance, axis, torch.sum)]

        def of_items(items: NDArray[Any]) -> tuple[Floats, Floats]:
            scores, summed = self._by_batches(explained, items)
            return scores, summed

        return of_items

    def pixel_explainer(self, composite: Composite) -> PixelExplainer:
        """See :meth:`.JudgedModel.pixel_explainer`."""
        require_path(self._network, 0, "the input")

        def explained(x: torch.Tensor, labels: torch.Tensor) -> list[torch.Tensor]:
            _, relevance = self._relevance(x, labels, composite, 0)
            return [relevance.sum(1)]

        def of_items(items: NDArray[np.uint8], labels: NDArray[np.int64]) -> Floats:
            (summed,) = self._by_batches(explained, items, labels)
            return summed

        return of_items

    def _relevance(
        self, x: torch.Tensor, labels: torch.Tensor | None, composite: Composite, target: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores ``(N, K)``, and a node's relevance for those of the labels, None: the winners'."""
        values = self._network.values(x)
        scores = values[self._network.start]
        flat = scores.reshape(len(x), -1)
        chosen = flat.argmax(1) if labels is None else labels.to(flat.device)
        seed = (flat * nn.functional.one_hot(chosen, flat.shape[1])).reshape(scores.shape)
        return flat, propagate_relevance(self._network, composite, values, seed, target)

    def on_pixels(self) -> PixelNetwork:
        """See :meth:`.JudgedModel.on_pixels`."""
        if not self._pictures or self._fixed:
            raise UserError(
                f"{self.name} cannot be attacked: only networks of pictures, uint8 (N, H, W, C), "
                "of which any number goes in at once, can be"
            )
        channels, *sides = self._shape
        return TorchNetwork(
            lambda x: self._network.values(x)[self._network.start],
            self._preprocessing,
            (*sides, channels),
            self.outputs,
            self._like,
        )

    def _by_batches(
        self,
        function: Callable[..., list[torch.Tensor]],
        items: NDArray[Any],
        labels: NDArray[np.int64] | None = None,
    ) -> list[Floats]:
        """What a function of a batch gives, of all items."""

        def of_batch(rows: NDArray[np.int64]) -> list[Floats]:
            labels_of_batch = [] if labels is None else [torch.from_numpy(labels[rows])]
            with torch.no_grad():
                values = function(self._given(items[rows]), *labels_of_batch)
            return [as_array(value) for value in values]

        return over_batches(of_batch, len(items), self._fixed)

    def _exported(self, model: Any, example: NDArray[Any]) -> fx.GraphModule:
        """The graph of a model, whose first axis is free where that is possible."""
        with ExitStack() as after:
            if isinstance(model, nn.Module) and not _is_exported(model):
                after.enter_context(evaluation_mode(model))
                given = self._given(example[:2])
                free = ({0: torch.export.Dim.AUTO},)
                try:
                    model = torch.export.export(model, (given,), dynamic_shapes=free)
                except Exception as error:
                    raise UserError(f"{self.name} cannot be exported: {error}") from error
            module: fx.GraphModule = model if _is_exported(model) else model.module()
        named = [node.op for node in module.graph.nodes]
        (ends,) = (node.args[0] for node in module.graph.nodes if node.op == "output")
        if named.count("placeholder") != 1 or (isinstance(ends, list | tuple) and len(ends) != 1):
            raise UserError(f"{self.name} has several inputs or outputs; one of each is judged")
        return module

    def _given(self, items: NDArray[Any]) -> torch.Tensor:
        """What the model takes."""
        if self._pictures:
            items = model_input(items, self._preprocessing).transpose(0, 3, 1, 2)
        tensor = torch.from_numpy(np.ascontiguousarray(items))
        real = tensor.is_floating_point()
        return tensor.to(self._like) if real else tensor.to(self._like.device)

    def _ends(self, example: NDArray[Any]) -> tuple[Any, Any]:
        """The smallest and the largest value that an input can take."""
        if not self._pictures:
            return float(example.min()), float(example.max())
        black = np.zeros((1, 1, 1, example.shape[-1]), np.uint8)
        low, high = (as_array(self._given(ends)[0]) for ends in (black, black + np.uint8(255)))
        return np.minimum(low, high), np.maximum(low, high)


def _is_exported(model: Any) -> bool:
    """Whether a module is a graph that tells the shapes of its tensors."""
    nodes = model.graph.nodes if isinstance(model, fx.GraphModule) else ()
    return any(node.op == "placeholder" and "val" in node.meta for node in nodes)


def _state(model: Any) -> list[torch.Tensor]:
    state = model.state_dict() if isinstance(model, nn.Module) else model.state_dict
    return [value for value in state.values() if isinstance(value, torch.Tensor)]


def _neurons(call: GraphCall) -> int:
    """The axis of a layer's neurons: a feature map is one, and so is an entry of a vector."""
    node, axes = call.node, len(call.shape())
    if axes < 3:
        return -1
    while node.op == "call_function":
        operator = GraphCall(node, (), {}).operator
        if operator in CHANNELS_FIRST:
            return 1
        if operator not in ACTIVATIONS | {"dropout", "add", "add_", "mul"}:
            break
        node = node.all_input_nodes[0]
    return 1 if axes > 3 else -1


def _over_places(values: torch.Tensor, axis: int, reduce: Any) -> torch.Tensor:
    """``(N, neurons)``: feature maps reduced over their places."""
    moved = values.movedim(axis, -1)
    places = list(range(1, moved.ndim - 1))
    reduced: torch.Tensor = reduce(moved, dim=places) if places else moved
    return reduced
