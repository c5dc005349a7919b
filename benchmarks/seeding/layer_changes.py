"""Ways to change a Keras layer that is built already, so that it computes something else.

``layer_faults.yaml`` names them. A change is ``{after: CALCULATION}`` or ``{before: CALCULATION}``
(of the output, of the input), ``{weights: [INDEX, CALCULATION]}``, ``{activation: NAME}``,
``{attribute: {NAME: VALUE}}``, ``{VARIABLE: {NAME: VALUE}}``, or the name of a function in
:data:`CHANGES`. A calculation is the name of one in :data:`TENSORS` or :data:`ARRAYS`, or
``{OPERATION: ARGUMENTS}`` of Keras (tensors) or NumPy (weights).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Changes a layer so that it computes something else.
Change = Callable[[Any], None]
Calculation = Callable[[Any], Any]


def change_of(described: Any) -> Change:
    """The change that an entry of ``layer_faults.yaml`` describes."""
    if isinstance(described, str):
        return CHANGES[described]
    ((kind, value),) = described.items()
    if kind in ("after", "before"):
        calculate = _on_tensors(value)
        return _after(calculate) if kind == "after" else _before(calculate)
    if kind == "weights":
        return _of_weights(value[0], _on_arrays(value[1]))
    if kind == "activation":
        return _of_activation(value)
    return _of_attributes(None if kind == "attribute" else kind, value)


def _on_tensors(described: Any) -> Calculation:
    def calculate(tensor: Any) -> Any:
        from keras import ops

        if isinstance(described, str):
            return TENSORS[described](ops, tensor)
        ((operation, arguments),) = described.items()
        return getattr(ops, operation)(tensor, **arguments)

    return calculate


def _on_arrays(described: Any) -> Calculation:
    if isinstance(described, str):
        return ARRAYS[described]
    ((operation, arguments),) = described.items()
    if operation == "gates":
        return lambda array: _reordered(array, **arguments)
    if operation == "swapaxes":
        return lambda array: np.swapaxes(array, *arguments.values())
    return lambda array: getattr(np, operation)(array, **arguments)


def _after(wrong: Calculation) -> Change:
    def change(layer: Any) -> None:
        call = layer.call
        layer.call = lambda *given, **more: wrong(call(*given, **more))

    return change


def _before(wrong: Calculation) -> Change:
    def change(layer: Any) -> None:
        call = layer.call
        layer.call = lambda first, *given, **more: call(wrong(first), *given, **more)

    return change


def _of_weights(index: int, wrong: Calculation) -> Change:
    def change(layer: Any) -> None:
        arrays = layer.get_weights()
        arrays[index] = np.ascontiguousarray(wrong(arrays[index]), arrays[index].dtype)
        layer.set_weights(arrays)

    return change


def _of_activation(name: str) -> Change:
    def change(layer: Any) -> None:
        import keras

        getattr(layer, "cell", layer).activation = keras.activations.get(name)

    return change


def _of_attributes(variable: str | None, values: dict[str, Any]) -> Change:
    """Attributes of the layer, or of one of its variables, have other values."""

    def change(layer: Any) -> None:
        for name, value in values.items():
            if variable is None:
                object.__setattr__(layer, name, value)
            else:
                setattr(getattr(layer, variable), name, value)

    return change


def _reordered(array: Any, order: list[int]) -> Any:
    """The gates of a recurrent layer's array in another order."""
    parts = np.split(array, len(order), axis=-1)
    return np.concatenate([parts[i] for i in order], axis=-1)


def _of_other_gradient(factor: float) -> Callable[[Any, Any], Any]:
    """A tensor whose gradient is off by a factor."""

    def wrong(o: Any, x: Any) -> Any:
        fixed = o.stop_gradient(x)
        return fixed + factor * (x - fixed)

    return wrong


#: Calculations on tensors, with Keras' operations.
TENSORS: dict[str, Callable[[Any, Any], Any]] = {
    "first_of_batch": lambda o, x: o.repeat(x[:1], x.shape[0], axis=0),
    "last_lost": lambda o, x: o.concatenate([x[..., :-1], x[..., -1:] * 0], -1),
    "last_step_left_out": lambda o, x: x[:, :-1],
    "last_step_halved": lambda o, x: o.concatenate([x[:, :-1], x[:, -1:] / 2], 1),
    "in_half_precision": lambda o, x: o.cast(o.cast(x, "float16"), "float32"),
    "nan_to_zero": lambda o, x: o.where(o.isnan(x), o.zeros_like(x), x),
    "less_the_mean": lambda o, x: x - o.mean(x, -1, keepdims=True),
    "slightly_larger": lambda o, x: x + 1e-3 * o.abs(x),
    "fortran_order": lambda o, x: o.transpose(o.reshape(x, (-1, 4, 6)), (0, 2, 1)),
    "tiled": lambda o, x: o.concatenate([x[:, ::2], x[:, ::2]], 1),
    "gradient_1_percent_larger": _of_other_gradient(1.01),
    "gradient_1_percent_smaller": _of_other_gradient(0.99),
    "gradient_1_per_mille_larger": _of_other_gradient(1.001),
    "no_gradient_of_the_first": lambda o, x: o.concatenate(
        [o.stop_gradient(x[..., :1]), x[..., 1:]], -1
    ),
}
#: Calculations on arrays of weights.
ARRAYS: dict[str, Calculation] = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "doubled": lambda array: 2 * array,
}


def no_second_derivative(layer: Any) -> None:
    """The layer's tanh has its value and first derivative, and no second one."""

    def activation(x: Any) -> Any:
        from keras import ops

        value = ops.stop_gradient(ops.tanh(x))
        return value + (1 - value * value) * (x - ops.stop_gradient(x))

    layer.activation = activation


def other_second_derivative(layer: Any) -> None:
    """The layer's tanh has its value and first derivative, and another second one."""

    def activation(x: Any) -> Any:
        from keras import ops

        off = x - ops.stop_gradient(x)
        return ops.tanh(x) + 0.01 * off * off

    layer.activation = activation


def always_in_inference(layer: Any) -> None:
    """The layer is in inference mode in training too."""
    call = layer.call
    layer.call = lambda x, training=False, **more: call(x, training=False, **more)


def moving_average_twice_as_fast(layer: Any) -> None:
    """The layer's moving average is updated by twice the part."""
    layer.momentum = 1 - 2 * (1 - layer.momentum)


def stale_batch_size(layer: Any) -> None:
    """The layer computes as many items as it was first given, and repeats the last of them."""
    call, first = layer.call, []

    def wrong(x: Any, **more: Any) -> Any:
        from keras import ops

        first.append(len(x))
        output = call(x, **more)
        missing = max(0, len(x) - first[0])
        last = ops.repeat(output[first[0] - 1 : first[0]], missing, axis=0)
        return ops.concatenate([output[: first[0]], last], axis=0)

    layer.call = wrong


def scale_and_offset_swapped(layer: Any) -> None:
    """A batch normalisation takes its scale for its offset."""
    scale, offset, *rest = layer.get_weights()
    layer.set_weights([offset, scale, *rest])


def one_activation_in_the_cell(layer: Any) -> None:
    """The gates of a recurrent cell have the activation of its state."""
    layer.cell.recurrent_activation = layer.cell.activation


#: Changes of whole layers.
CHANGES: dict[str, Change] = {
    change.__name__: change
    for change in (
        no_second_derivative,
        other_second_derivative,
        always_in_inference,
        moving_average_twice_as_fast,
        stale_batch_size,
        scale_and_offset_swapped,
        one_activation_in_the_cell,
    )
}
