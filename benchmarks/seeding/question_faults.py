"""Faults that a model's outputs for one batch do not show: of derivatives, training and sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asterism.differential.adapters.probes import (
    GRADIENT,
    HESSIAN,
    RESIZED,
    TRAINING,
    WEIGHT_GRADIENT,
)
from seeding.layer_changes import Change, after, attribute

_SGD, _ADAM = TRAINING


def scaled(factor: float) -> Callable[[Any], Any]:
    """A tensor whose gradient is off by a factor."""

    def wrong(tensor: Any) -> Any:
        from keras import ops

        fixed = ops.stop_gradient(tensor)
        return fixed + factor * (tensor - fixed)

    return wrong


def lost_of_first(tensor: Any) -> Any:
    """A tensor of whose first column the gradient is lost."""
    from keras import ops

    return ops.concatenate([ops.stop_gradient(tensor[..., :1]), tensor[..., 1:]], -1)


def straight(layer: Any) -> None:
    """The layer's tanh has its value and first derivative, and no second one."""

    def activation(tensor: Any) -> Any:
        from keras import ops

        value = ops.stop_gradient(ops.tanh(tensor))
        return value + (1 - value * value) * (tensor - ops.stop_gradient(tensor))

    layer.activation = activation


def bent(layer: Any) -> None:
    """The layer's tanh has its value and first derivative, and another second one."""

    def activation(tensor: Any) -> Any:
        from keras import ops

        off = tensor - ops.stop_gradient(tensor)
        return ops.tanh(tensor) + 0.01 * off * off

    layer.activation = activation


def of_variable(name: str, **values: Any) -> Change:
    """Attributes of one of the layer's variables have other values."""

    def change(layer: Any) -> None:
        for key, value in values.items():
            setattr(getattr(layer, name), key, value)

    return change


def in_inference(layer: Any) -> None:
    """The layer is in inference mode always."""
    call = layer.call
    layer.call = lambda x, training=False, **more: call(x, training=False, **more)


def twice(layer: Any) -> None:
    """The layer's moving average is updated by twice the part."""
    layer.momentum = 1 - 2 * (1 - layer.momentum)


def stale(layer: Any) -> None:
    """The layer computes as many items as it was first given, and repeats the last of them."""
    call, first = layer.call, []

    def wrong(tensor: Any, **more: Any) -> Any:
        from keras import ops

        first.append(len(tensor))
        output = call(tensor, **more)
        missing = max(0, len(tensor) - first[0])
        last = ops.repeat(output[first[0] - 1 : first[0]], missing, axis=0)
        return ops.concatenate([output[: first[0]], last], axis=0)

    layer.call = wrong


_DENSE = {"units": 6, "activation": "tanh"}
_NUMBERS, _SEQUENCE = (6,), (6, 4)

#: What is wrong, the layer, its input, its parameters, the change, and who sees it.
QUESTION_FAULTS: tuple[tuple[str, str, tuple[int, ...], dict[str, Any], Change, str], ...] = (
    ("scaled gradient", "Dense", _NUMBERS, _DENSE, after(scaled(1.01)), GRADIENT),
    ("lost gradient", "Dense", _NUMBERS, _DENSE, after(lost_of_first), GRADIENT),
    ("scaled gradient by weights", "Dense", _NUMBERS, _DENSE, after(scaled(0.99)), WEIGHT_GRADIENT),
    ("lost gradient by weights", "Dense", _NUMBERS, _DENSE, after(lost_of_first), WEIGHT_GRADIENT),
    (
        "lost gradient by weights",
        "Conv1D",
        _SEQUENCE,
        {"filters": 3, "kernel_size": [2]},
        after(lost_of_first),
        WEIGHT_GRADIENT,
    ),
    (
        "scaled gradient by weights",
        "LayerNormalization",
        _NUMBERS,
        {},
        after(scaled(1.001)),
        WEIGHT_GRADIENT,
    ),
    ("lost second derivative", "Dense", _NUMBERS, _DENSE, straight, HESSIAN),
    ("wrong second derivative", "Dense", _NUMBERS, _DENSE, bent, HESSIAN),
    ("scaled gradient in training", "Dense", _NUMBERS, _DENSE, after(scaled(1.01)), _SGD),
    ("scaled gradient in training", "Dense", (5,), _DENSE, after(scaled(1.01)), _ADAM),
    ("not trained", "Dense", _NUMBERS, {"units": 3}, attribute(trainable=False), _SGD),
    (
        "lost regularizer",
        "Dense",
        _NUMBERS,
        {"units": 3, "kernel_regularizer": "l2"},
        of_variable("kernel", regularizer=None),
        _SGD,
    ),
    (
        "lost constraint",
        "Dense",
        _NUMBERS,
        {"units": 3, "kernel_constraint": "non_neg"},
        of_variable("kernel", constraint=None),
        _SGD,
    ),
    ("stale shape", "Dense", _NUMBERS, {"units": 3}, stale, RESIZED),
    ("statistics of inference", "BatchNormalization", _NUMBERS, {}, in_inference, _SGD),
    ("wrong moving average", "BatchNormalization", _NUMBERS, {}, twice, _SGD),
)
