"""The signature of a Keras file, from its configuration: Keras itself is not imported."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import reading
from asterism.models.keras_models.reading import read_keras_config
from asterism.models.signatures.signature import Signature, TensorSpec

#: What tells how long the last axis of a layer's output is, by the layer's class.
_LENGTH = {"Dense": "units", "Embedding": "output_dim", "LSTM": "units", "GRU": "units"}
#: Classes of recurrent layers, and what runs such a layer.
RECURRENT_LAYERS = ("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional")
#: Layers whose outputs have their inputs' shape.
_KEEP_SHAPE = ("Activation", "Dropout", "LeakyReLU", "ReLU", "Softmax")


def keras_signature(path: Path) -> Signature:
    """What a Keras file takes and gives.

    An output's shape is known without Keras only where its layer's own configuration tells it.

    Raises:
        UserError: see :func:`~asterism.models.keras_models.reading.read_keras_config`.
    """
    config = read_keras_config(path)
    with reading(str(path)):
        return signature_of_config(config["config"])


def signature_of_config(model: Any) -> Signature:
    """What a model of Keras takes and gives, by its own configuration."""
    layers = model["layers"] if isinstance(model, dict) else model
    inputs = tuple(_input(layer) for layer in _inputs(layers))
    ends = model.get("output_layers") if isinstance(model, dict) else None
    named = {layer["config"]["name"]: layer for layer in layers}
    lengths = _Lengths(layers)
    last = [named[name] for name in _names(ends)] if ends else layers[-1:]
    return Signature(
        format="keras",
        inputs=inputs,
        outputs=tuple(_output(layer, lengths.of(layer)) for layer in last),
        operators=sum(layer["class_name"] != "InputLayer" for layer in layers),
        half=any(_dtype(layer["config"]) == "float16" for layer in layers),
        recurrent=any(layer["class_name"] in RECURRENT_LAYERS for layer in layers),
    )


def _inputs(layers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The input layers; Keras 2 writes the shape into the first layer of a Sequential."""
    declared = [layer for layer in layers if layer["class_name"] == "InputLayer"]
    return declared or layers[:1]


def _input(layer: dict[str, Any]) -> TensorSpec:
    config = layer["config"]
    shape = config.get("batch_shape") or config.get("batch_input_shape") or [None]
    return TensorSpec(config["name"], _dtype(config), tuple(shape))


def _output(layer: dict[str, Any], length: int | None) -> TensorSpec:
    config = layer["config"]
    activation = config.get("activation", layer["class_name"].lower())
    maker = activation if isinstance(activation, str) else ""
    shape = (None, length) if length else ()
    return TensorSpec(config["name"], _dtype(config), shape, made_by=maker)


class _Lengths:
    """The last axes of layers' outputs, where the configuration tells them."""

    def __init__(self, layers: list[dict[str, Any]]) -> None:
        self._named = {layer["config"]["name"]: layer for layer in layers}
        self._in_front = {id(layer): before for before, layer in pairwise(layers)}
        self._known: dict[int, int | None] = {}

    def of(self, layer: dict[str, Any]) -> int | None:
        """The last axis of a layer's output, None where the configuration does not tell it."""
        shaping: dict[str, Any] | None = layer
        passed: list[int] = []
        while shaping is not None and shaping["class_name"] in _KEEP_SHAPE:
            if id(shaping) in self._known:  # or in a damaged file: a layer that follows itself
                break
            self._known[id(shaping)] = None
            passed.append(id(shaping))
            shaping = self.before(shaping)
        length = None
        if shaping is not None:
            own = _LENGTH.get(shaping["class_name"], "")
            length = self._known.get(id(shaping), shaping["config"].get(own))
        self._known.update(dict.fromkeys(passed, length))
        return length

    def before(self, layer: dict[str, Any]) -> dict[str, Any] | None:
        """The layer whose output a layer takes first; of a Sequential, the one in front of it."""
        if nodes := layer.get("inbound_nodes"):
            texts = (self._named.get(text) for text in _texts(nodes))
            return next((found for found in texts if found is not None), None)
        return self._in_front.get(id(layer))


def _texts(value: Any) -> Iterator[str]:
    """All texts in nested lists and mappings, in their order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _names(ends: list[Any]) -> list[str]:
    """Names of the output layers: one entry ``[name, node, tensor]``, or a list of such."""
    return [ends[0]] if isinstance(ends[0], str) else [end[0] for end in ends]


def _dtype(config: dict[str, Any]) -> str:
    dtype = config.get("dtype", "float32")
    if isinstance(dtype, dict):  # a policy
        dtype = dtype.get("config", {}).get("name", "float32")
    return str(dtype)
