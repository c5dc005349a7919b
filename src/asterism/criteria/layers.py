"""Choosing layers of a Keras model: the subject layer, and those whose neurons count."""

from __future__ import annotations

from typing import Any

import keras

from asterism.core.messages.errors import UserError
from asterism.models.layers.logits import ClassifierHead


def is_classifier(model: keras.Model) -> bool:
    """Whether the model has a score for each of several classes."""
    return int(model.outputs[0].shape[-1]) > 1


def find_layer(model: keras.Model, wanted: str | int | None) -> str:
    """Name of the subject layer.

    Args:
        model: the model under test.
        wanted: name, index in ``model.layers`` (negative from the end), or None for the last
            hidden layer with an activation.

    Raises:
        UserError: no such layer, or one that only takes the model's input; the message lists the
            layers.
    """
    if wanted is None:
        return hidden_layers(model)[-1]
    names = [layer.name for layer in model.layers]
    listed = ", ".join(f"{i} {name}" for i, name in enumerate(names))
    known = f"(its layers: {listed})"
    if isinstance(wanted, int) and -len(names) <= wanted < len(names):
        wanted = names[wanted]
    if wanted not in names:
        raise UserError(f"the model {model.name!r} has no layer {wanted!r} {known}")
    if isinstance(model.get_layer(wanted), keras.layers.InputLayer):
        raise UserError(f"the layer {wanted!r} of {model.name!r} is its input {known}")
    return str(wanted)


def hidden_layers(model: keras.Model) -> list[str]:
    """Names of the layers whose neurons decide: with an activation, and not the output's.

    Where no layer has one, those with weights.

    Raises:
        UserError: there is none.
    """
    scores = _score_layers(model)
    inner = [layer for layer in model.layers if layer not in scores]
    active = [layer.name for layer in inner if _activates(layer)]
    found = active or [layer.name for layer in inner if layer.weights]
    if not found:
        raise UserError(f"the model {model.name!r} has no hidden layer")
    return found


def _score_layers(model: keras.Model) -> list[Any]:
    """The output's layer, or its softmax's and those behind it; before one of its own that too."""
    head = ClassifierHead.of(model)
    if head.softmax is None:
        return [model.layers[-1]]
    before = [] if head.weighs else [head.before._keras_history.operation]
    return [*before, head.softmax, *head.behind]


def _activates(layer: Any) -> bool:
    kinds = (keras.layers.ReLU, keras.layers.LeakyReLU, keras.layers.ELU, keras.layers.PReLU)
    activation = getattr(layer, "activation", None)
    silent = (None, keras.activations.linear, keras.activations.softmax)
    return isinstance(layer, kinds) or activation not in silent
