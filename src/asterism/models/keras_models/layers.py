"""Layers of a Keras model as one flat graph, its scores before the softmax, and what it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError


def flatten_model(model: keras.Model) -> keras.Model:
    """The same function without models inside it.

    A layer ``conv`` of a model ``features`` inside becomes the layer ``features.conv``. A model
    without models inside is returned as it is, and so is one that is no graph of layers.

    Args:
        model: functional or sequential, as are the models inside.
    """
    if not any(isinstance(layer, keras.Model) for layer in model.layers) or not _is_graph(model):
        return model
    inputs = [keras.Input(batch_shape=t.shape, dtype=t.dtype) for t in model.inputs]
    outputs = _Opening().apply(model, inputs, "")
    return keras.Model(inputs, outputs, name=model.name)


def keras_graph(model: keras.Model) -> Any:
    """The graph of operations; a sequential model keeps it inside."""
    return getattr(model, "_functional", None) or model


class _Opening:
    """Applies copies of layers; a layer that is used twice has one copy."""

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}

    def apply(self, model: keras.Model, inputs: list[Any], prefix: str) -> list[Any]:
        """A model's outputs for other inputs; names of its layers are put behind ``prefix``."""
        graph = keras_graph(model)
        values = {id(t): value for t, value in zip(graph.inputs, inputs, strict=True)}
        for depth in sorted(graph._nodes_by_depth, reverse=True):
            for node in graph._nodes_by_depth[depth]:
                if node.is_input:
                    continue
                found = self._call(node, values, prefix)
                values |= {id(t): v for t, v in zip(node.outputs, found, strict=True)}
        return [values[id(t)] for t in graph.outputs]

    def _call(self, node: Any, values: dict[int, Any], prefix: str) -> list[Any]:
        operation = node.operation
        if isinstance(operation, keras.Model) and _is_graph(operation):
            given = [values[id(t)] for t in node.arguments.keras_tensors]
            return self.apply(operation, given, f"{prefix}{operation.name}.")
        arguments, options = node.arguments.fill_in(values)
        copy = self._copies.get(id(operation))
        if copy is None:
            config = operation.get_config() | {"name": f"{prefix}{operation.name}"}
            copy = self._copies[id(operation)] = type(operation).from_config(config)
        found = keras.tree.flatten(copy(*arguments, **options))
        if isinstance(operation, keras.Layer):
            copy.set_weights(operation.get_weights())
        return list(found)


def _is_graph(model: keras.Model) -> bool:
    return hasattr(keras_graph(model), "_nodes_by_depth")


#: Kinds of layers that do nothing at inference.
INERT = (
    *("Dropout", "SpatialDropout1D", "SpatialDropout2D", "AlphaDropout", "GaussianDropout"),
    *("GaussianNoise", "ActivityRegularization", "Identity"),
)
#: Kinds of layers that give other axes to their values.
RESHAPING = ("Flatten", "Reshape", "Permute")

#: Kinds of layers whose activation comes last.
_ACTIVATED = ("Activation", "Dense", "EinsumDense", "Conv1D", "Conv2D", "Conv3D")


@dataclass(frozen=True)
class ClassifierHead:
    """How a classifier ends.

    Attributes:
        softmax: the layer whose softmax gives the outputs, be it a layer of its own or the
            activation of one; None where the model ends otherwise.
        before: that layer's input.
        behind: the layers between the softmax and the output, of kinds that change none of its
            values.
    """

    softmax: Any | None
    before: Any
    behind: tuple[Any, ...]

    @property
    def weighs(self) -> bool:
        """Whether the softmax is the activation of a layer that does more."""
        return bool(getattr(self.softmax, "weights", ()))

    @classmethod
    def of(cls, model: keras.Model) -> ClassifierHead:
        """The head of a functional or sequential model with one output."""
        tensor = model.outputs[0]
        behind: list[Any] = []
        while True:
            history = tensor._keras_history
            layer = history.operation
            inputs = layer._inbound_nodes[history.node_index].input_tensors
            if _is_softmax(layer):
                return cls(layer, inputs[0], tuple(reversed(behind)))
            if type(layer).__name__ not in INERT and not gives_other_axes(layer):
                return cls(None, tensor, ())
            behind.append(layer)
            tensor = inputs[0]


def cut_softmax(model: keras.Model) -> keras.Model:
    """A classifier up to its softmax.

    Models inside it are opened to find that. Layers that only reshape the softmax's values may
    stand behind it: they get the scores instead. A model that ends otherwise is returned as it is.

    Args:
        model: functional or sequential, with one input and one output.

    Returns:
        A model that gives scores ``(N, K)`` for what ``model`` takes.
    """
    model = flatten_model(model)
    head = ClassifierHead.of(model)
    if head.softmax is None:
        return model
    scores = head.before
    if head.weighs:
        linear = _copied(head.softmax, activation="linear")
        scores = linear(scores)
        linear.set_weights(head.softmax.get_weights())
    for layer in head.behind:
        if type(layer).__name__ in RESHAPING:
            scores = _copied(layer)(scores)
    return keras.Model(model.inputs[0], scores)


def gives_other_axes(layer: Any) -> bool:
    """Whether all that a layer does is to give other axes to one vector, in its order.

    Behind a softmax, one over several places must not be put together: it would be many.
    """
    if type(layer).__name__ not in RESHAPING:
        return False
    lengths = layer.input.shape[1:]
    return len([length for length in lengths if length != 1]) <= 1


def _is_softmax(layer: Any) -> bool:
    kind, activation = type(layer).__name__, getattr(layer, "activation", None)
    activated = kind in _ACTIVATED and activation is keras.activations.softmax
    return activated or kind == "Softmax"


def _copied(layer: Any, **changes: Any) -> Any:
    return type(layer).from_config(layer.get_config() | changes)


def require_images_of(model: keras.Model, images: NDArray[Any]) -> None:
    """Reject images of another shape than a model takes.

    Args:
        model: with one input ``(N, H, W, C)``, sizes of which may be free.
        images: ``(N, H, W, C)``.

    Raises:
        UserError: it names both shapes.
    """
    taken, given = tuple(model.input_shape[1:]), tuple(images.shape[1:])
    fits = len(taken) == len(given) and all(
        wanted in (None, size) for wanted, size in zip(taken, given, strict=True)
    )
    if not fits:
        raise UserError(
            f"the model {model.name} takes inputs of shape {taken}, and the data have {given}: it "
            "was made for other data; `dvc repro` makes what belongs to these parameters"
        )
