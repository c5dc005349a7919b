"""Ways to change a Keras layer that is built already, so that it computes something else.

``layer_faults.yaml`` names them. A change is ``{after: CALCULATION}`` or ``{before: CALCULATION}``
(of the output, of the input), ``{weights: [INDEX, CALCULATION]}``, ``{activation: NAME}``,
``{activated: CALCULATION}``, ``{attribute: {NAME: VALUE}}``, ``{VARIABLE: {NAME: VALUE}}``, or the
name of a function in :data:`CHANGES`. A calculation is the name of one in :data:`TENSORS` or
:data:`ARRAYS`, or ``{OPERATION: ARGUMENTS}`` of Keras (tensors) or NumPy (arrays).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def change_layer(layer: Any, described: Any) -> None:
    """Change a layer as an entry of ``layer_faults.yaml`` describes it."""
    import keras

    if isinstance(described, str):
        CHANGES[described](layer)
        return
    ((kind, value),) = described.items()
    call = layer.call
    if kind == "after":
        layer.call = lambda *given, **more: on_tensor(value, call(*given, **more))
    elif kind == "before":
        layer.call = lambda first, *given, **more: call(on_tensor(value, first), *given, **more)
    elif kind == "weights":
        index, calculation = value
        arrays = layer.get_weights()
        changed = on_array(calculation, arrays[index])
        arrays[index] = np.ascontiguousarray(changed, arrays[index].dtype)
        layer.set_weights(arrays)
    elif kind == "activation":
        getattr(layer, "cell", layer).activation = keras.activations.get(value)
    elif kind == "activated":
        layer.activation = lambda x: on_tensor(value, x)
    elif kind == "attribute":
        for name, other in value.items():
            object.__setattr__(layer, name, other)
    else:
        for name, other in value.items():
            setattr(getattr(layer, kind), name, other)


def on_tensor(described: Any, tensor: Any) -> Any:
    """A calculation on a tensor."""
    from keras import ops

    if isinstance(described, str):
        return TENSORS[described](ops, tensor)
    ((operation, arguments),) = described.items()
    return getattr(ops, operation)(tensor, **arguments)


def on_array(described: Any, array: Any) -> Any:
    """A calculation on an array."""
    if isinstance(described, str):
        return ARRAYS[described](array)
    ((operation, arguments),) = described.items()
    if operation == "gates":  # of a recurrent layer, in another order
        order = arguments["order"]
        parts = np.split(array, len(order), axis=-1)
        return np.concatenate([parts[i] for i in order], axis=-1)
    return getattr(np, operation)(array, **arguments)


def _of_other_gradient(factor: float) -> Callable[[Any, Any], Any]:
    """A tensor whose gradient is off by a factor."""

    def wrong(o: Any, x: Any) -> Any:
        fixed = o.stop_gradient(x)
        return fixed + factor * (x - fixed)

    return wrong


def _tanh_without_second_derivative(o: Any, x: Any) -> Any:
    value = o.stop_gradient(o.tanh(x))
    return value + (1 - value * value) * (x - o.stop_gradient(x))


def _tanh_of_other_second_derivative(o: Any, x: Any) -> Any:
    off = x - o.stop_gradient(x)
    return o.tanh(x) + 0.01 * off * off


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
    "tanh_without_second_derivative": _tanh_without_second_derivative,
    "tanh_of_other_second_derivative": _tanh_of_other_second_derivative,
}


def _shifted_by_one(pads: Any) -> Any:
    """Padding of the first axis that is one more at its beginning, and one less at its end."""
    shift = np.zeros_like(pads)
    shift[0], shift[len(pads) // 2] = 1, -1
    return pads + shift


#: Calculations on arrays, of weights or of attributes.
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "doubled": lambda array: 2 * array,
    "hundredfold": lambda array: 100 * array,
    "first_slightly_larger": lambda w: np.where(w == w.flat[0], w.flat[0] * 1.05, w),
    "shifted_by_one": _shifted_by_one,
}


def always_in_inference(layer: Any) -> None:
    """The layer is in inference mode in training too."""
    call = layer.call
    layer.call = lambda x, training=False, **more: call(x, training=False, **more)


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
CHANGES: dict[str, Callable[[Any], None]] = {
    change.__name__: change
    for change in (
        always_in_inference,
        stale_batch_size,
        scale_and_offset_swapped,
        one_activation_in_the_cell,
    )
}
