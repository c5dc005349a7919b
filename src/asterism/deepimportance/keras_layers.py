"""How each kind of Keras layer is made of the operations of :mod:`.network`.

To support another layer, register one function in :data:`CONVERTERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import ops
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import Registry
from asterism.deepimportance.network import (
    ElementwiseOperation,
    LinearOperation,
    Network,
    RoutingOperation,
    WeightedSum,
)
from asterism.models.keras_models.layers import (
    INERT,
    RESHAPING,
    flatten_model,
    gives_other_axes,
    keras_graph,
)

#: Appends a layer's operations to a network; from the nodes of its inputs to that of its output.
Converter = Callable[[Any, Network, list[int]], int]
CONVERTERS: Registry[Converter] = Registry("layer")

_NONNEGATIVE = {"relu", "relu6", "sigmoid", "softplus", "softmax", "exponential", "hard_sigmoid"}
_SQUASHING = {"softmax", "sigmoid"}


def build_network(
    model: keras.Model, low: float | NDArray[Any] = 0.0, high: float | NDArray[Any] = 1.0
) -> Network:
    """The operations of a Keras model, batch normalisation folded.

    Args:
        model: functional or sequential, with one input and one output; models inside it are
            opened, see :func:`asterism.models.keras_models.layers.flatten_model`.
        low: smallest value that its input can take (after preprocessing); one, or one a channel.
        high: largest such value.

    Raises:
        UserError: a layer of a kind that relevance cannot pass; the message names it and lists
            the kinds that are supported. Or the model is not a graph of layers.
    """
    model = flatten_model(model)
    graph = keras_graph(model)
    if not hasattr(graph, "_nodes_by_depth") or len(graph.inputs) != 1 or len(graph.outputs) != 1:
        raise UserError(
            f"the model {model.name!r} is not a graph of layers with one input and one output: "
            "rebuild it with the functional or sequential API"
        )
    network = Network(low, high)
    place: dict[int, int] = {id(graph.inputs[0]): 0}
    for depth in sorted(graph._nodes_by_depth, reverse=True):
        for node in graph._nodes_by_depth[depth]:
            if node.is_input:
                continue
            layer = node.operation
            kind = type(layer).__name__
            if kind not in CONVERTERS:
                raise _unsupported(layer, f"of kind {kind}")
            inputs = [place[id(t)] for t in node.arguments.keras_tensors]
            index = CONVERTERS[kind](layer, network, inputs)
            # A layer that is used several times is looked at where it is used first: Keras' own
            # ``layer.output``, from which activations are taken.
            network.outputs_of.setdefault(layer.name, index)
            place[id(node.outputs[0])] = index
    return network.folded()


def _unsupported(layer: Any, what: str) -> UserError:
    return UserError(
        f"relevance cannot pass the layer {layer.name!r} {what} "
        f"(supported: {', '.join(CONVERTERS)})"
    )


def _with_activation(layer: Any, network: Network, index: int) -> int:
    function = layer.activation
    if function is None or function is keras.activations.linear:
        return index
    name = getattr(function, "__name__", "")
    operation = ElementwiseOperation(
        function, nonnegative=name in _NONNEGATIVE, squashes=name in _SQUASHING
    )
    return network.add(operation, index)


def _array(variable: Any) -> NDArray[Any]:
    return np.asarray(ops.convert_to_numpy(variable), np.float64)


def _bias(layer: Any, channels: int) -> NDArray[Any]:
    return _array(layer.bias) if layer.use_bias else np.zeros(channels)


@CONVERTERS.register("Dense")
def _dense(layer: Any, network: Network, inputs: list[int]) -> int:
    kernel = _array(layer.kernel)
    linear = LinearOperation("dense", tf.linalg.matmul, kernel, _bias(layer, kernel.shape[-1]))
    return _with_activation(layer, network, network.add(linear, *inputs))


@CONVERTERS.register("Conv1D", "Conv2D", "Conv3D")
def _convolution(layer: Any, network: Network, inputs: list[int]) -> int:
    kernel = _array(layer.kernel)
    _channels_last(layer)
    # Causal is valid on an input with zeros before its first step.
    missing = layer.dilation_rate[0] * (kernel.shape[0] - 1) if layer.padding == "causal" else 0
    padding = "valid" if layer.padding == "causal" else layer.padding

    def convolve(x: Any, k: Any) -> Any:
        steps = tf.pad(x, [[0, 0], [missing, 0], [0, 0]]) if missing else x
        return ops.conv(steps, k, layer.strides, padding, dilation_rate=layer.dilation_rate)

    linear = LinearOperation("convolution", convolve, kernel, _bias(layer, kernel.shape[-1]))
    return _with_activation(layer, network, network.add(linear, *inputs))


def _depthwise(layer: Any, kernel: NDArray[Any], bias: NDArray[Any]) -> LinearOperation:
    _channels_last(layer)
    return LinearOperation(
        "convolution",
        lambda x, k: ops.depthwise_conv(
            x, k, layer.strides, layer.padding, dilation_rate=layer.dilation_rate
        ),
        kernel,
        bias,
        depthwise=True,
    )


@CONVERTERS.register("DepthwiseConv2D", "DepthwiseConv1D")
def _depthwise_convolution(layer: Any, network: Network, inputs: list[int]) -> int:
    kernel = _array(layer.kernel)
    linear = _depthwise(layer, kernel, _bias(layer, kernel.shape[-2] * kernel.shape[-1]))
    return _with_activation(layer, network, network.add(linear, *inputs))


@CONVERTERS.register("SeparableConv2D", "SeparableConv1D")
def _separable_convolution(layer: Any, network: Network, inputs: list[int]) -> int:
    depthwise, pointwise = _array(layer.depthwise_kernel), _array(layer.pointwise_kernel)
    index = network.add(_depthwise(layer, depthwise, np.zeros(pointwise.shape[-2])), *inputs)
    bias = _bias(layer, pointwise.shape[-1])
    index = network.add(LinearOperation("convolution", ops.conv, pointwise, bias), index)
    return _with_activation(layer, network, index)


@CONVERTERS.register("AveragePooling1D", "AveragePooling2D", "AveragePooling3D")
@CONVERTERS.register("GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D")
def _average(layer: Any, network: Network, inputs: list[int]) -> int:
    _channels_last(layer)
    one, zero = np.ones(()), np.zeros(())
    return network.add(
        LinearOperation("pooling", lambda x, k: layer.call(x) * k, one, zero), *inputs
    )


@CONVERTERS.register("BatchNormalization")
def _batch_normalization(layer: Any, network: Network, inputs: list[int]) -> int:
    mean, variance = _array(layer.moving_mean), _array(layer.moving_variance)
    scale = 1 / np.sqrt(variance + layer.epsilon)
    if layer.scale:
        scale = scale * _array(layer.gamma)
    shift = -mean * scale
    if layer.center:
        shift = shift + _array(layer.beta)
    if layer.axis not in (-1, len(layer.input.shape) - 1):
        raise UserError(f"the layer {layer.name!r} normalises axis {layer.axis}, not the last one")
    return network.add(_per_channel(scale, shift), *inputs)


@CONVERTERS.register("Rescaling", "Normalization")
def _rescaling(layer: Any, network: Network, inputs: list[int]) -> int:
    if isinstance(layer, keras.layers.Rescaling):
        scale, shift = np.asarray(layer.scale, float), np.asarray(layer.offset, float)
    elif layer.invert:
        raise _unsupported(layer, "that inverts a normalisation")
    else:
        scale = 1 / np.maximum(np.sqrt(_array(layer.variance)), keras.backend.epsilon())
        shift = -_array(layer.mean) * scale
    affine = _per_channel(scale, shift)
    keeps_sign = network.nodes[inputs[0]].nonnegative and bool(
        (scale >= 0).all() and (shift >= 0).all()
    )
    return network.add(ElementwiseOperation(affine.function, nonnegative=keeps_sign), *inputs)


def _per_channel(scale: Any, shift: Any) -> ElementwiseOperation:
    return ElementwiseOperation(
        lambda x: x * tf.constant(scale, x.dtype) + tf.constant(shift, x.dtype),
        nonnegative=False,
        channels=(scale, shift),
    )


@CONVERTERS.register("Activation")
def _activation_layer(layer: Any, network: Network, inputs: list[int]) -> int:
    return _with_activation(layer, network, inputs[0])


@CONVERTERS.register("ReLU", "LeakyReLU", "ELU", "PReLU", "Softmax")
def _activation_with_settings(layer: Any, network: Network, inputs: list[int]) -> int:
    kind = type(layer).__name__
    never_below_zero = kind == "Softmax" or (kind == "ReLU" and not layer.negative_slope)
    operation = ElementwiseOperation(
        layer.call, nonnegative=never_below_zero, squashes=kind == "Softmax"
    )
    return network.add(operation, *inputs)


@CONVERTERS.register(*INERT)
def _nothing_at_inference(layer: Any, network: Network, inputs: list[int]) -> int:
    return inputs[0]


@CONVERTERS.register(*RESHAPING)
def _reshapes(layer: Any, network: Network, inputs: list[int]) -> int:
    return network.add(RoutingOperation(layer.call, keeps_vector=gives_other_axes(layer)), *inputs)


@CONVERTERS.register("RepeatVector", "ZeroPadding1D", "ZeroPadding2D", "Cropping1D", "Cropping2D")
def _moves(layer: Any, network: Network, inputs: list[int]) -> int:
    return network.add(RoutingOperation(layer.call), *inputs)


@CONVERTERS.register("UpSampling1D", "UpSampling2D")
def _repeats(layer: Any, network: Network, inputs: list[int]) -> int:
    if getattr(layer, "interpolation", "nearest") != "nearest":
        raise UserError(
            f"relevance cannot pass the layer {layer.name!r}: it interpolates "
            f"{layer.interpolation}, only nearest is supported"
        )
    return network.add(RoutingOperation(layer.call), *inputs)


@CONVERTERS.register("MaxPooling1D", "MaxPooling2D", "MaxPooling3D")
@CONVERTERS.register("GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D")
def _maximum(layer: Any, network: Network, inputs: list[int]) -> int:
    """The winner takes all."""
    _channels_last(layer)
    return network.add(RoutingOperation(layer.call), *inputs)


@CONVERTERS.register("Concatenate")
def _concatenate(layer: Any, network: Network, inputs: list[int]) -> int:
    return network.add(RoutingOperation(lambda *xs: tf.concat(xs, layer.axis)), *inputs)


@CONVERTERS.register("Add")
def _add(layer: Any, network: Network, inputs: list[int]) -> int:
    return network.add(_sum(layer, (1.0,) * len(inputs)), *inputs)


@CONVERTERS.register("Subtract")
def _subtract(layer: Any, network: Network, inputs: list[int]) -> int:
    return network.add(_sum(layer, (1.0, -1.0)[: len(inputs)]), *inputs)


@CONVERTERS.register("Average")
def _mean_of_tensors(layer: Any, network: Network, inputs: list[int]) -> int:
    if not isinstance(layer, keras.Layer):  # keras.ops.average: a mean along an axis
        raise _unsupported(layer, "that averages one tensor")
    return network.add(_sum(layer, (1 / len(inputs),) * len(inputs)), *inputs)


def _sum(layer: Any, weights: tuple[float, ...]) -> WeightedSum:
    if len(weights) < 2:
        raise _unsupported(layer, "that takes a constant and a tensor")
    shapes = [tuple(t.shape[1:]) for t in layer.input]
    if len(set(shapes)) > 1:
        listed = " and ".join(map(str, shapes))
        raise _unsupported(layer, f"that stretches one of its inputs, of shapes {listed}")
    return WeightedSum(weights)


def _channels_last(layer: Any) -> None:
    if getattr(layer, "data_format", "channels_last") != "channels_last":
        raise UserError(f"the layer {layer.name!r} has its channels first; they must come last")
