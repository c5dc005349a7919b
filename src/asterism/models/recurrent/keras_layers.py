"""Looking up the layers of a Keras model: the recurrent one, and the chain of all of them."""

from __future__ import annotations

from typing import Any

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import closest
from asterism.models.signatures.keras import RECURRENT_LAYERS

RECURRENT = ("LSTM", "GRU", "SimpleRNN")


def kind(layer: Any) -> str:
    """The layer's class name."""
    return type(layer).__name__


def is_recurrent(layer: Any) -> bool:
    """Whether the layer is recurrent, or runs a recurrent one in both directions."""
    return kind(layer) in RECURRENT_LAYERS


def find_layer(model: Any, name: str | None) -> Any:
    """The layer to profile.

    Args:
        model: a Keras model.
        name: the layer's name, or None for the last recurrent one.

    Raises:
        UserError: there is no such layer; the message names those that there are.
    """
    names = [layer.name for layer in model.layers]
    if name is not None:
        if name not in names:
            known = ", ".join(names)
            raise UserError(f"the model has no layer {name!r}{closest(name, names)} ({known})")
        return model.get_layer(name)
    recurrent = [layer for layer in model.layers if is_recurrent(layer)]
    if not recurrent:
        raise UserError(
            f"the model has no recurrent layer: name the one to profile ({', '.join(names)})"
        )
    return recurrent[-1]


def layer_chain(model: Any) -> list[Any] | None:
    """The model's layers from input to output, or None where they do not form one chain."""
    import keras

    layers = [layer for layer in model.layers if kind(layer) != "InputLayer"]
    if isinstance(model, keras.Sequential):
        return layers if model.built else None
    if len(getattr(model, "inputs", None) or []) != 1 or len(model.outputs) != 1:
        return None
    current = model.inputs[0]
    for layer in layers:
        if len(layer._inbound_nodes) != 1 or layer.input is not current:
            return None
        current = layer.output
    return layers if current is model.outputs[0] else None


def sequence_shape(model: Any) -> tuple[int | None, int | None, str | None]:
    """Steps and features of the sequences that the model takes, None where any will do.

    The third is the dtype of steps that are single numbers, None where they are vectors.

    Raises:
        UserError: its input is no sequence of vectors or of numbers.
    """
    inputs = getattr(model, "inputs", None) or []
    shapes = [tuple(tensor.shape) for tensor in inputs]
    if len(shapes) != 1 or len(shapes[0]) not in (2, 3):
        raise UserError(
            f"the model takes {shapes}, not one sequence of vectors (N, T, F) or numbers (N, T)"
        )
    if len(shapes[0]) == 2:
        return shapes[0][1], None, str(inputs[0].dtype)
    return shapes[0][1], shapes[0][2], None
