"""A classifier's scores before its softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras

from asterism.models.layers.flattening import flattened

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


def up_to_logits(model: keras.Model) -> keras.Model:
    """A classifier up to its softmax.

    Models inside it are opened to find that. Layers that only reshape the softmax's values may
    stand behind it: they get the scores instead. A model that ends otherwise is returned as it is.

    Args:
        model: functional or sequential, with one input and one output.

    Returns:
        A model that gives scores ``(N, K)`` for what ``model`` takes.
    """
    model = flattened(model)
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
