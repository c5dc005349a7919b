"""Layers of recurrent Keras models, and Keras as their engine where ONNX cannot express them."""

from __future__ import annotations

from typing import Any

import numpy as np

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import suggest_closest
from asterism.models.formats.keras import KerasRuntime
from asterism.models.recurrent.model import Floats, Inputs, SequenceForm
from asterism.models.signatures.keras import RECURRENT_LAYERS


class KerasEngine:
    """A Keras model and the states of one of its layers, computed together.

    Args:
        model: any Keras model whose layers have symbolic inputs and outputs.
        profiled: the layer; a recurrent one that gives its last state only is run once more, with
            the same weights, to give all of them.
    """

    threads = False
    notes: tuple[str, ...] = ()

    def __init__(self, model: Any, profiled: Any) -> None:
        import keras

        self.form = _sequence_form(model, profiled.name)
        try:
            states = _every_step(profiled)
            both = keras.Model(model.inputs, [model.outputs[0], states])
        except (AttributeError, ValueError) as error:
            raise UserError(f"the states of {profiled.name} cannot be read: {error}") from error
        self._runtime = KerasRuntime(both)
        (self._input,) = (spec.name for spec in self._runtime.signature.inputs)

    def compute(self, sequences: Inputs) -> tuple[Floats, Floats]:
        """See :class:`~asterism.models.recurrent.model.Engine`."""
        outputs, states = self._runtime.run({self._input: sequences}).values()
        return np.asarray(outputs, np.float32), np.asarray(states, np.float32)


def _every_step(layer: Any) -> Any:
    """A symbolic tensor ``(N, T, H)``."""
    if not is_recurrent(layer) or (layer_kind(layer) != "Bidirectional" and layer.return_sequences):
        return layer.output
    config = {**layer.get_config(), "name": f"{layer.name}_every_step"}
    if layer_kind(layer) == "Bidirectional":
        for direction in ("layer", "backward_layer"):
            if config.get(direction):
                config[direction]["config"]["return_sequences"] = True
        config["merge_mode"] = "concat"
    else:
        config["return_sequences"] = True
    twin = type(layer).from_config(config)
    sequences, *mask = layer.input if isinstance(layer.input, list) else [layer.input]
    states = twin(sequences, mask=mask[0]) if mask else twin(sequences)
    twin.set_weights(layer.get_weights())
    return states


RECURRENT = ("LSTM", "GRU", "SimpleRNN")


def layer_kind(layer: Any) -> str:
    """The layer's class name."""
    return type(layer).__name__


def is_recurrent(layer: Any) -> bool:
    """Whether the layer is recurrent, or runs a recurrent one in both directions."""
    return layer_kind(layer) in RECURRENT_LAYERS


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
            raise UserError(
                f"the model has no layer {name!r}{suggest_closest(name, names)} ({known})"
            )
        return model.get_layer(name)
    recurrent = [layer for layer in model.layers if is_recurrent(layer)]
    if not recurrent:
        raise UserError(
            f"the model has no recurrent layer: name the one to profile ({', '.join(names)})"
        )
    return recurrent[-1]


def find_layer_chain(model: Any) -> list[Any] | None:
    """The model's layers from input to output, or None where they do not form one chain."""
    import keras

    layers = [layer for layer in model.layers if layer_kind(layer) != "InputLayer"]
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


def _sequence_form(model: Any, layer: str) -> SequenceForm:
    """What the model takes.

    Raises:
        UserError: its input is no sequence of vectors or of numbers.
    """
    inputs = getattr(model, "inputs", None) or []
    shapes = [tuple(tensor.shape) for tensor in inputs]
    if len(shapes) != 1 or len(shapes[0]) not in (2, 3):
        raise UserError(
            f"the model takes {shapes}, not one sequence of vectors (N, T, F) or numbers (N, T)"
        )
    _, steps, *features = shapes[0]
    numbers = None if features else str(inputs[0].dtype)
    width = features[0] if features else None
    return SequenceForm(layer=layer, steps=steps, features=width, batch=None, numbers=numbers)
