"""Other forms of a Keras model that compute the same: layers in two halves, and a free length.

A backend runs the changed model, and the references the plain one. A reproducer holds the source of
these functions, which therefore import what they need themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asterism.memo.graphs.graph import Graph

#: Kinds of inputs with which the model is changed.
SPLIT, LENGTHENED = "split", "lengthened"
#: How much longer the inputs are that a model of free length sees first.
LONGER = 3

#: Layers that can be split.
_KINDS = ("Conv", "MaxPooling", "AveragePooling")
_SPLIT = ("Dense", *(f"{kind}{n}D" for kind in _KINDS for n in (1, 2, 3)))


def split(model: Any) -> Any:
    """The model with every dense, convolution and pooling layer as two, one for each half.

    The outputs of the halves are concatenated. Layers whose activation mixes outputs stay whole.
    """
    import keras

    alone = "elu gelu hard_sigmoid leaky_relu linear relu relu6 selu sigmoid silu softplus tanh"
    sizes = {"Dense": "units", "Conv1D": "filters", "Conv2D": "filters", "Conv3D": "filters"}

    def axis_of(layer: Any) -> int:
        return 1 if getattr(layer, "data_format", "") == "channels_first" else -1

    def halves(layer: Any) -> Any:
        kind, config = type(layer).__name__, layer.get_config()
        given = keras.Input(batch_shape=layer.input.shape, dtype=layer.input.dtype)
        whole = layer.output.shape[axis_of(layer)]
        if whole is None or whole < 2:
            return type(layer).from_config(config)
        parts = []
        for number, count in enumerate((whole // 2, whole - whole // 2)):
            changed = {**config, "name": f"{layer.name}_{number}"}
            first, last = number * (whole // 2), number * (whole // 2) + count
            if kind in sizes:
                same = type(layer).from_config({**changed, sizes[kind]: count})(given)
            else:
                cut = given[:, first:last] if axis_of(layer) == 1 else given[..., first:last]
                same = type(layer).from_config(changed)(cut)
            parts.append(same)
        joined = keras.layers.Concatenate(axis=axis_of(layer), dtype=layer.dtype_policy)(parts)
        return keras.Model(given, joined, name=layer.name)

    def changed(layer: Any) -> Any:
        config, kind = layer.get_config(), type(layer).__name__
        if kind in sizes and config.get("groups", 1) == 1:
            simple = config["activation"] in alone.split() and config.get("lora_rank") is None
            return halves(layer) if simple else type(layer).from_config(config)
        pools = kind.startswith(("MaxPooling", "AveragePooling"))
        return halves(layer) if pools else type(layer).from_config(config)

    other = keras.models.clone_model(model, clone_function=changed)
    for layer in model.layers:
        twin, weights = other.get_layer(layer.name), layer.get_weights()
        if isinstance(twin, keras.Model) and weights:
            first, second = (twin.get_layer(f"{layer.name}_{number}") for number in (0, 1))
            count = first.get_weights()[0].shape[-1]
            first.set_weights([w[..., :count] for w in weights])
            second.set_weights([w[..., count:] for w in weights])
        elif weights:
            twin.set_weights(weights)
    return other


def lengthened(model: Any) -> Any:
    """The model with inputs whose first axis after the batch has no fixed size."""
    import keras

    given = [
        keras.Input(batch_shape=(None, None, *i.shape[2:]), dtype=i.dtype, name=i.name)
        for i in model.inputs
    ]
    other = keras.models.clone_model(model, given if len(given) > 1 else given[0])
    for layer in model.layers:
        if layer.weights:
            other.get_layer(layer.name).set_weights(layer.get_weights())
    return other


#: The functions by the kind of inputs that they are for.
FORMS: dict[str, Callable[[Any], Any]] = {SPLIT: split, LENGTHENED: lengthened}


def has_form(graph: Graph, form: str) -> bool:
    """Whether a model has something to split, or inputs that may have a length of their own."""
    if form == LENGTHENED:
        return all(len(graph.tensors[i].shape) > 1 for i in graph.inputs)
    return any(graph.nodes[i].type in _SPLIT for i in graph.layers)
