"""Ways to change a Keras layer that is built already, so that it computes something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Changes a layer so that it computes something else.
Change = Callable[[Any], None]


def after(wrong: Callable[[Any], Any]) -> Change:
    """The layer's output is changed."""

    def change(layer: Any) -> None:
        call = layer.call
        layer.call = lambda *given, **more: wrong(call(*given, **more))

    return change


def before(wrong: Callable[[Any], Any]) -> Change:
    """The layer's input is changed."""

    def change(layer: Any) -> None:
        call = layer.call
        layer.call = lambda first, *given, **more: call(wrong(first), *given, **more)

    return change


def attribute(**values: Any) -> Change:
    """Attributes of the layer have other values."""

    def change(layer: Any) -> None:
        for name, value in values.items():
            object.__setattr__(layer, name, value)

    return change


def activation(name: str) -> Change:
    """The layer's activation is another one."""

    def change(layer: Any) -> None:
        import keras

        (getattr(layer, "cell", layer)).activation = keras.activations.get(name)

    return change


def weights(at: int, wrong: Callable[[Any], Any]) -> Change:
    """One of the layer's arrays is changed."""

    def change(layer: Any) -> None:
        arrays = layer.get_weights()
        arrays[at] = np.ascontiguousarray(wrong(arrays[at]), arrays[at].dtype)
        layer.set_weights(arrays)

    return change


def operation(name: str, *given: Any, **more: Any) -> Callable[[Any], Any]:
    """An operation of Keras, applied to a tensor."""

    def apply(tensor: Any) -> Any:
        from keras import ops

        return getattr(ops, name)(tensor, *given, **more)

    return apply


def elementwise(wrong: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A function of Keras' operations and a tensor."""

    def apply(tensor: Any) -> Any:
        from keras import ops

        return wrong(ops, tensor)

    return apply


def gates(order: tuple[int, ...]) -> Callable[[Any], Any]:
    """The gates of a recurrent layer's array in another order."""

    def wrong(array: Any) -> Any:
        parts = np.split(array, len(order), axis=-1)
        return np.concatenate([parts[i] for i in order], axis=-1)

    return wrong
