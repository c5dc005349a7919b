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
from asterism.deepimportance.keras_calls import ImpassableLayerError, LayerCall
from asterism.deepimportance.network import (
    ElementwiseOperation,
    InputWeightedOperation,
    LinearOperation,
    Network,
    OpaqueOperation,
    Operation,
    RoutingOperation,
    WeightedSum,
    gated,
    layer_normalised,
    shifted,
)
from asterism.models.keras_models.layers import (
    INERT,
    RESHAPING,
    flatten_model,
    gives_other_axes,
    keras_graph,
)

#: Appends a layer's operations to a network; from the nodes of its inputs to that of its output.
Converter = Callable[[LayerCall, Network, list[int]], int]
CONVERTERS: Registry[Converter] = Registry("layer")

_NONNEGATIVE = {"relu", "relu6", "sigmoid", "softplus", "softmax", "exponential", "hard_sigmoid"}
_SQUASHING = {"softmax", "sigmoid"}


def build_network(
    model: keras.Model, low: float | NDArray[Any] = 0.0, high: float | NDArray[Any] = 1.0
) -> Network:
    """The operations of a Keras model, batch normalisation folded.

    A layer that relevance cannot pass is an :class:`.OpaqueOperation`, which messages call by the
    layer's name, what it does, and the kinds that are supported.

    Args:
        model: functional or sequential, with one input and one output; models inside it are
            opened, see :func:`asterism.models.keras_models.layers.flatten_model`.
        low: smallest value that its input can take (after preprocessing); one, or one a channel.
        high: largest such value.

    Raises:
        UserError: the model is not a graph of layers.
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
            calls = [LayerCall(node, number) for number in range(len(node.outputs))]
            inputs = [place[id(t)] for t in calls[0].tensors]
            for call, output in zip(calls, node.outputs, strict=True):
                place[id(output)] = _add_call(call, graph, network, inputs)
            # A layer that is used several times is looked at where it is used first: Keras' own
            # ``layer.output``, from which activations are taken.
            network.outputs_of.setdefault(node.operation.name, place[id(node.outputs[0])])
    last = place[id(graph.outputs[0])]
    if last < len(network.nodes) - 1:  # behind it stand other outputs of its layer
        network.add(RoutingOperation(lambda x: x, keeps_vector=True), last)
    return network.folded()


def _add_call(call: LayerCall, graph: Any, network: Network, inputs: list[int]) -> int:
    """Append a call's operations; one that no converter covers has a value, and no relevance."""
    try:
        if call.masked:
            raise ImpassableLayerError("that leaves out masked steps")
        if call.kind not in CONVERTERS or call.picked:
            raise ImpassableLayerError(f"of kind {call.kind}")
        return CONVERTERS[call.kind](call, network, inputs)
    except ImpassableLayerError as error:
        told, known = f"the layer {call.layer.name!r} {error}", list(CONVERTERS)
        if call.masked:
            return network.add(OpaqueOperation(call.computed_from(graph), told, known), *inputs, 0)
        return network.add(OpaqueOperation(call, told, known), *inputs)


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
def _dense(call: LayerCall, network: Network, inputs: list[int]) -> int:
    layer = call.layer
    kernel = _array(layer.kernel)
    linear = LinearOperation("dense", tf.linalg.matmul, kernel, _bias(layer, kernel.shape[-1]))
    return _with_activation(layer, network, network.add(linear, *inputs))


@CONVERTERS.register("Conv1D", "Conv2D", "Conv3D")
def _convolution(call: LayerCall, network: Network, inputs: list[int]) -> int:
    layer = call.layer
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
def _depthwise_convolution(call: LayerCall, network: Network, inputs: list[int]) -> int:
    layer = call.layer
    kernel = _array(layer.kernel)
    linear = _depthwise(layer, kernel, _bias(layer, kernel.shape[-2] * kernel.shape[-1]))
    return _with_activation(layer, network, network.add(linear, *inputs))


@CONVERTERS.register("SeparableConv2D", "SeparableConv1D")
def _separable_convolution(call: LayerCall, network: Network, inputs: list[int]) -> int:
    layer = call.layer
    depthwise, pointwise = _array(layer.depthwise_kernel), _array(layer.pointwise_kernel)
    index = network.add(_depthwise(layer, depthwise, np.zeros(pointwise.shape[-2])), *inputs)
    bias = _bias(layer, pointwise.shape[-1])
    index = network.add(LinearOperation("convolution", ops.conv, pointwise, bias), index)
    return _with_activation(layer, network, index)


@CONVERTERS.register("AveragePooling1D", "AveragePooling2D", "AveragePooling3D")
@CONVERTERS.register("GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D")
def _average(call: LayerCall, network: Network, inputs: list[int]) -> int:
    layer = call.layer
    _channels_last(layer)
    one, zero = np.ones(()), np.zeros(())
    return network.add(
        LinearOperation("pooling", lambda x, k: layer.call(x) * k, one, zero), *inputs
    )


@CONVERTERS.register("BatchNormalization")
def _batch_normalization(call: LayerCall, network: Network, inputs: list[int]) -> int:
    layer = call.layer
    mean, variance = _array(layer.moving_mean), _array(layer.moving_variance)
    scale = 1 / np.sqrt(variance + layer.epsilon)
    if layer.scale:
        scale = scale * _array(layer.gamma)
    shift = -mean * scale
    if layer.center:
        shift = shift + _array(layer.beta)
    if layer.axis not in (-1, len(layer.input.shape) - 1):
        raise ImpassableLayerError(f"that normalises axis {layer.axis}, not the last one")
    return network.add(_per_channel(scale, shift), *inputs)


@CONVERTERS.register("Rescaling", "Normalization")
def _rescaling(call: LayerCall, network: Network, inputs: list[int]) -> int:
    layer = call.layer
    if isinstance(layer, keras.layers.Rescaling):
        scale, shift = np.asarray(layer.scale, float), np.asarray(layer.offset, float)
    elif layer.invert:
        raise ImpassableLayerError("that inverts a normalisation")
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
def _activation_layer(call: LayerCall, network: Network, inputs: list[int]) -> int:
    return _with_activation(call.layer, network, inputs[0])


@CONVERTERS.register("ReLU", "LeakyReLU", "ELU", "PReLU", "Softmax")
def _activation_with_settings(call: LayerCall, network: Network, inputs: list[int]) -> int:
    softmax = call.kind == "Softmax"
    never_below_zero = softmax or (call.kind == "ReLU" and not call.layer.negative_slope)
    operation = ElementwiseOperation(
        call.layer.call, nonnegative=never_below_zero, squashes=softmax
    )
    return network.add(operation, *inputs)


@CONVERTERS.register(*INERT)
def _nothing_at_inference(call: LayerCall, network: Network, inputs: list[int]) -> int:
    return inputs[0]


@CONVERTERS.register(*RESHAPING)
def _reshapes(call: LayerCall, network: Network, inputs: list[int]) -> int:
    routing = RoutingOperation(call.layer.call, keeps_vector=gives_other_axes(call.layer))
    return network.add(routing, *inputs)


@CONVERTERS.register("RepeatVector", "ZeroPadding1D", "ZeroPadding2D", "Cropping1D", "Cropping2D")
def _moves(call: LayerCall, network: Network, inputs: list[int]) -> int:
    return network.add(RoutingOperation(call.layer.call), *inputs)


@CONVERTERS.register("UpSampling1D", "UpSampling2D")
def _repeats(call: LayerCall, network: Network, inputs: list[int]) -> int:
    interpolation = getattr(call.layer, "interpolation", "nearest")
    if interpolation != "nearest":
        raise ImpassableLayerError(f"that interpolates {interpolation}, only nearest is supported")
    return network.add(RoutingOperation(call.layer.call), *inputs)


@CONVERTERS.register("MaxPooling1D", "MaxPooling2D", "MaxPooling3D")
@CONVERTERS.register("GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D")
def _maximum(call: LayerCall, network: Network, inputs: list[int]) -> int:
    """The winner takes all."""
    _channels_last(call.layer)
    return network.add(RoutingOperation(call.layer.call), *inputs)


@CONVERTERS.register("Concatenate")
def _concatenate(call: LayerCall, network: Network, inputs: list[int]) -> int:
    return network.add(RoutingOperation(lambda *xs: tf.concat(xs, call.layer.axis)), *inputs)


@CONVERTERS.register("Add")
def _add(call: LayerCall, network: Network, inputs: list[int]) -> int:
    return network.add(_sum(call, (1.0,) * len(call.operands)), *inputs)


@CONVERTERS.register("Subtract")
def _subtract(call: LayerCall, network: Network, inputs: list[int]) -> int:
    return network.add(_sum(call, (1.0, -1.0)), *inputs)


@CONVERTERS.register("Average")
def _mean_of_tensors(call: LayerCall, network: Network, inputs: list[int]) -> int:
    if not isinstance(call.layer, keras.Layer):  # keras.ops.average: a mean along an axis
        raise ImpassableLayerError("that averages one tensor")
    return network.add(_sum(call, (1 / len(inputs),) * len(inputs)), *inputs)


def _sum(call: LayerCall, weights: tuple[float, ...]) -> Operation:
    """Of tensors of one shape; or ``keras.ops`` adds a constant to one, or subtracts it."""
    shapes = [tuple(t.shape[1:]) for t in (*call.tensors, call.node.outputs[0])]
    if len(set(shapes)) > 1:
        listed = " and ".join(map(str, shapes[:-1]))
        raise ImpassableLayerError(f"that stretches one of its inputs, of shapes {listed}")
    if any("float" not in t.dtype for t in call.tensors):
        raise ImpassableLayerError("that computes with integers")
    if len(call.tensors) == len(weights):
        return WeightedSum(weights)
    if isinstance(call.layer, keras.Layer) or len(weights) != 2:
        raise ImpassableLayerError("that takes a constant and a tensor")
    at = [isinstance(x, keras.KerasTensor) for x in call.operands].index(True)
    return shifted(weights[at], weights[1 - at] * _array(call.operands[1 - at]))


@CONVERTERS.register("Multiply")
def _multiply(call: LayerCall, network: Network, inputs: list[int]) -> int:
    """By a constant; or by a gate, what a sigmoid or a softmax gives."""
    if len(inputs) == 1 and call.tensors[0].shape == call.node.outputs[0].shape:
        return network.add(ElementwiseOperation(call, nonnegative=False), *inputs)
    gates = [network.is_squashed(index) for index in inputs]
    if len(gates) != 2 or sum(gates) != 1:
        raise ImpassableLayerError("that multiplies, but not one tensor by a sigmoid or softmax")
    return network.add(gated(gates.index(True)), *inputs)


@CONVERTERS.register("LayerNormalization")
def _layer_normalization(call: LayerCall, network: Network, inputs: list[int]) -> int:
    layer, rank = call.layer, len(call.tensors[0].shape)
    axes = sorted(axis % rank for axis in layer.axis)
    if layer.rms_scaling or axes != list(range(axes[0], rank)):
        raise ImpassableLayerError(f"that normalises axes {axes}, or by the root mean square")
    scale, shift = (None if w is None else _array(w) for w in (layer.gamma, layer.beta))
    return network.add(layer_normalised(axes, layer.epsilon, scale, shift), *inputs)


@CONVERTERS.register("EinsumDense")
def _einsum(call: LayerCall, network: Network, inputs: list[int]) -> int:
    return _einsum_dense(call.layer, network, *inputs)


def _einsum_dense(layer: Any, network: Network, index: int) -> int:
    """A dense layer over some axes, whose kernel ends with the output's last axis."""
    taken, _, given = layer.equation.partition("->")
    if taken[-1] != given[-1]:
        raise ImpassableLayerError(f"that computes {layer.equation}")
    kernel = _array(layer.kernel)
    bias = np.zeros(kernel.shape[-1]) if layer.bias is None else _array(layer.bias)
    linear = LinearOperation("dense", lambda x, k: ops.einsum(layer.equation, x, k), kernel, bias)
    return _with_activation(layer, network, network.add(linear, index))


@CONVERTERS.register("MultiHeadAttention")
def _attention(call: LayerCall, network: Network, inputs: list[int]) -> int:
    """The values of all heads are weighed by the scores that the layer itself tells."""
    layer = call.layer
    weighed = [i for i, t in enumerate(call.tensors) if t is call.argument("value")]
    sequences = all(len(call.tensors[i].shape) == 3 for i in weighed)
    if not weighed or not sequences or getattr(layer, "_use_gate", False):
        raise ImpassableLayerError("whose values are constant, gated or no sequence (N, T, F)")

    def scores(*xs: Any) -> Any:
        """What each step counts for another, ``(N, heads, steps of queries, of values)``."""
        return tf.cast(call.outputs(*xs[:-1], return_attention_scores=True)[1], xs[-1].dtype)

    values = _einsum_dense(layer.value_dense, network, inputs[weighed[0]])
    attention = InputWeightedOperation(
        scores, lambda v, p: tf.einsum("nhqs,nshd->nqhd", p, v), weighed=len(inputs)
    )
    return _einsum_dense(layer.output_dense, network, network.add(attention, *inputs, values))


def _channels_last(layer: Any) -> None:
    if getattr(layer, "data_format", "channels_last") != "channels_last":
        raise ImpassableLayerError("that has its channels first; they must come last")
