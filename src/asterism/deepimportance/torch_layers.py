"""How the operators of an exported graph of PyTorch are made of the operations of :mod:`.network`.

To support another operator, register one function in :data:`CONVERTERS`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import fx

from asterism.core.parameters.registry import Registry
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
from asterism.models.formats import as_array
from asterism.models.signatures.torch import modules_of, operator_of

#: Functions of each value, and softmax, that give no value below zero.
_NONNEGATIVE = {"relu", "relu6", "sigmoid", "softplus", "softmax", "hardsigmoid"}
_SQUASHING = {"softmax", "sigmoid", "log_softmax"}
ACTIVATIONS = {
    *("relu", "relu6", "hardtanh", "sigmoid", "hardsigmoid", "tanh", "softplus", "elu", "selu"),
    *("gelu", "silu", "hardswish", "leaky_relu", "mish", "celu", "softsign", "logsigmoid"),
}
#: Operators that move, repeat, drop or select values.
_ROUTING = {
    *("alias", "clone", "contiguous", "detach", "lift_fresh_copy", "to", "_to_copy", "dropout"),
    *("feature_dropout", "alpha_dropout", "expand", "flatten", "permute", "reshape", "select"),
    *("slice", "squeeze", "t", "transpose", "unflatten", "unsqueeze", "view", "_unsafe_view"),
    *("cat", "concat", "stack", "split", "split_with_sizes", "chunk", "unbind", "roll", "flip"),
    *("pad", "constant_pad_nd", "upsample_nearest2d", "pixel_shuffle", "channel_shuffle"),
    *("max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices"),
    *("adaptive_max_pool1d", "adaptive_max_pool2d", "amax"),
}
#: Operators whose outputs have their channels on the second axis.
CHANNELS_FIRST = {
    *("conv1d", "conv2d", "conv3d", "convolution", "batch_norm", "batch_norm_inference"),
    *("max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"),
    *(
        "adaptive_avg_pool1d",
        "adaptive_avg_pool2d",
        "adaptive_avg_pool3d",
        "max_pool2d_with_indices",
    ),
}
#: Names that decomposed graphs have for the same.
_PLAIN = {
    "_softmax": "softmax",
    "_log_softmax": "log_softmax",
    "_native_batch_norm_legit_no_training": "batch_norm_inference",
    "native_layer_norm": "layer_norm",
    "_adaptive_avg_pool2d": "adaptive_avg_pool2d",
    "mm": "matmul",
    "bmm": "matmul",
}


@dataclass(frozen=True)
class GraphCall:
    """A node of a graph, as a function of those of its inputs that depend on the network's input.

    Attributes:
        node: the node.
        inputs: nodes that depend on the network's input, in the order of the arguments.
        constants: values of all nodes that do not.
        picked: which of several outputs is meant; None for the only one.
    """

    node: fx.Node
    inputs: tuple[fx.Node, ...]
    constants: dict[fx.Node, Any]
    picked: int | None = None

    @property
    def operator(self) -> str:
        """The operator's name, without its overload."""
        name = operator_of(self.node.target)
        return _PLAIN.get(name, name)

    def __call__(self, *xs: Any) -> Any:
        """The output for values of the inputs."""
        given = dict(zip(self.inputs, xs, strict=True))

        def value(node: fx.Node) -> Any:
            return given[node] if node in given else self.constants[node]

        args, kwargs = fx.map_arg((self.node.args, self.node.kwargs), value)
        assert callable(self.node.target)
        found = self.node.target(*args, **kwargs)
        return found if self.picked is None else found[self.picked]

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        """An argument: a node that depends on the network's input, or a value."""
        given = self.node.kwargs.get(name, default)
        if position < len(self.node.args):
            given = self.node.args[position]
        return self.constants.get(given, given) if isinstance(given, fx.Node) else given

    def array(self, position: int, name: str) -> NDArray[Any] | None:
        """A constant argument as an array; None if it is no constant."""
        given = self.argument(position, name)
        return None if given is None else as_array(given)

    @property
    def one(self) -> bool:
        """Whether the first argument is the only input that depends on the network's input."""
        return len(self.inputs) == 1 and self.node.args[0] is self.inputs[0]

    def shape(self, node: fx.Node | None = None) -> tuple[int | None, ...]:
        """Sizes of an output, or another node's; None for one that depends on the batch's."""
        value: Any = (node or self.node).meta["val"]
        picked = value if self.picked is None or node is not None else value[self.picked]
        return tuple(size if isinstance(size, int) else None for size in picked.shape)


#: Of a call, its operation; None where there is none of a kind that relevance passes.
Converter = Callable[[GraphCall], Operation | None]
CONVERTERS: Registry[Converter] = Registry("operator")


def build_graph_network(
    module: fx.GraphModule, low: float | NDArray[Any], high: float | NDArray[Any]
) -> tuple[Network, dict[str, GraphCall]]:
    """The operations of an exported graph, batch normalisation folded.

    Layers are modules by their fully qualified names, and activations that are functions by the
    names of their nodes.

    Args:
        module: with one input.
        low: smallest value that its input can take; one, or an array of the input's other axes.
        high: largest such value.

    Returns:
        The operations; and each layer's last call by the layer's name, in the graph's order.
    """
    network, last = Network(low, high), dict[str, GraphCall]()
    place: dict[fx.Node, int] = {}
    constants: dict[fx.Node, Any] = {}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            place[node] = 0
        elif node.op == "get_attr":
            constants[node] = operator.attrgetter(str(node.target))(module)
        elif node.op == "call_function":
            call = _call(node, place, constants)
            if not call.inputs:
                constants[node] = call()
                continue
            index = network.add(_operation(call), *(place[given] for given in call.inputs))
            place[node] = index
            for name in _names(call):
                network.outputs_of[name] = index
                last.pop(name, None)
                last[name] = call
    return network.folded(), last


def _call(node: fx.Node, place: dict[fx.Node, int], constants: dict[fx.Node, Any]) -> GraphCall:
    """A node's call; of one that picks an output of another node, that node's."""
    picked = None
    if node.target is operator.getitem:
        source, which = node.args
        if isinstance(source, fx.Node) and source.op == "call_function" and isinstance(which, int):
            node, picked = source, which
    inputs = tuple(given for given in node.all_input_nodes if given in place)
    return GraphCall(node, inputs, constants, picked)


def _operation(call: GraphCall) -> Operation:
    found: Operation | None = None
    if call.operator in ACTIVATIONS | _SQUASHING and call.one:
        found = ElementwiseOperation(
            call, call.operator in _NONNEGATIVE, call.operator in _SQUASHING
        )
    elif call.operator in _ROUTING and _is_tensor(call):
        found = RoutingOperation(
            call, keeps_vector=sum(size != 1 for size in call.shape()[1:]) <= 1
        )
    elif call.operator in CONVERTERS:
        found = CONVERTERS[call.operator](call)
    where = next(iter(_names(call)), call.node.name)
    return found or OpaqueOperation(call, f"the operator {call.operator} of {where!r}")


def _is_tensor(call: GraphCall) -> bool:
    value = call.node.meta.get("val")
    return call.picked is not None or hasattr(value, "shape")


def _names(call: GraphCall) -> Iterator[str]:
    """Layers that end with a node, unless a later one belongs to them too; the innermost first."""
    if call.operator in ACTIVATIONS and not _is_module_of_its_own(call.node):
        yield call.node.name
    yield from reversed(modules_of(call.node))


def _is_module_of_its_own(node: fx.Node) -> bool:
    """Whether a node is all that its innermost module does."""
    calls = (other for other in node.graph.nodes if other.op == "call_function")
    innermost = modules_of(node)[-1:]
    return bool(innermost) and sum(innermost[0] in modules_of(other) for other in calls) == 1


@CONVERTERS.register("linear")
def _linear(call: GraphCall) -> Operation | None:
    weights = call.array(1, "weight")
    return _dense(weights.T, call.array(2, "bias")) if call.one and weights is not None else None


@CONVERTERS.register("addmm")
def _add_and_multiply(call: GraphCall) -> Operation | None:
    scaled = {name for name, value in call.node.kwargs.items() if value != 1}
    if scaled or call.inputs != (call.node.args[1],):
        return None
    kernel = call.array(2, "mat2")
    return None if kernel is None else _dense(kernel, call.array(0, "input"))


@CONVERTERS.register("matmul")
def _multiply(call: GraphCall) -> Operation | None:
    """Weights are constant, or are attention's: then what is weighed stands behind them."""
    if call.one:
        kernel = call.array(1, "mat2")
        return _dense(kernel, None) if kernel is not None and kernel.ndim == 2 else None
    first = call.node.args[0]
    if len(call.inputs) == 2 and isinstance(first, fx.Node) and _is_softmax(first):
        return InputWeightedOperation(lambda p, _: p, lambda v, p: torch.matmul(p, v), weighed=1)
    return None


@CONVERTERS.register("scaled_dot_product_attention")
def _attention(call: GraphCall) -> Operation | None:
    if len(call.inputs) != 3 or call.inputs != tuple(call.node.args[:3]):
        return None

    def weights(query: Any, key: Any, value: Any) -> Any:
        """What each row of the values counts: the answer for the rows of a unit matrix."""
        length = key.shape[-2]
        unit = torch.eye(length, dtype=value.dtype, device=value.device)
        return call(query, key, unit.expand(*value.shape[:-2], length, length))

    return InputWeightedOperation(weights, lambda v, p: torch.matmul(p, v), weighed=2)


@CONVERTERS.register("conv1d", "conv2d", "conv3d", "convolution")
def _convolution(call: GraphCall) -> Operation | None:
    weights, bias = call.array(1, "weight"), call.array(2, "bias")
    transposed = call.operator == "convolution" and call.argument(6, "transposed", default=False)
    if not call.one or weights is None or transposed:
        return None
    target, rest = call.node.target, call.node.args[3:]
    assert callable(target)

    def function(x: Any, kernel: Any) -> Any:
        return target(x, kernel.movedim(-1, 0), None, *rest, **call.node.kwargs)

    kernel = np.moveaxis(weights, 0, -1)
    bias = np.zeros(kernel.shape[-1], kernel.dtype) if bias is None else bias
    return LinearOperation("convolution", function, kernel, bias, places=weights.ndim - 2)


@CONVERTERS.register("avg_pool1d", "avg_pool2d", "avg_pool3d")
@CONVERTERS.register("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "mean")
def _average(call: GraphCall) -> Operation | None:
    axes = call.argument(1, "dim", default=()) if call.operator == "mean" else (1,)
    over = [axes] if isinstance(axes, int) else list(axes or ())
    if not call.one or not over:
        return None
    if any(axis % len(call.shape(call.inputs[0])) == 0 for axis in over):
        return None
    return LinearOperation("pooling", lambda x, k: call(x) * k, np.ones(()), np.zeros(()))


@CONVERTERS.register("batch_norm")
def _batch_norm(call: GraphCall) -> Operation | None:
    return _normalised(call, epsilon=call.argument(7, "eps"), trains=call.argument(5, "training"))


@CONVERTERS.register("batch_norm_inference")
def _batch_norm_inference(call: GraphCall) -> Operation | None:
    return _normalised(call, epsilon=call.argument(6, "eps"), trains=False)


def _normalised(call: GraphCall, epsilon: float, trains: bool) -> Operation | None:
    mean, variance = call.array(3, "running_mean"), call.array(4, "running_var")
    if not call.one or trains or mean is None or variance is None:
        return None
    weight, bias = call.array(1, "weight"), call.array(2, "bias")
    scale = (1.0 if weight is None else weight) / np.sqrt(variance.astype(np.float64) + epsilon)
    shift = (0.0 if bias is None else bias) - mean * scale
    return ElementwiseOperation(call, nonnegative=False, channels=(scale, shift))


@CONVERTERS.register("layer_norm")
def _layer_norm(call: GraphCall) -> Operation | None:
    lengths, epsilon = call.argument(1, "normalized_shape"), call.argument(4, "eps", default=1e-5)
    if not call.one:
        return None
    weight, bias = call.array(2, "weight"), call.array(3, "bias")
    return layer_normalised(range(-len(lengths), 0), epsilon, weight, bias)


@CONVERTERS.register("add", "add_")
def _add(call: GraphCall) -> Operation | None:
    return _sum(call, 1.0)


@CONVERTERS.register("sub")
def _subtract(call: GraphCall) -> Operation | None:
    return _sum(call, -1.0)


def _sum(call: GraphCall, sign: float) -> Operation | None:
    """Both are tensors of one shape, or one is a constant, which keeps its part of relevance."""
    if call.node.kwargs.get("alpha", 1) != 1 or not _is_tensor(call):
        return None
    one, other = (call.argument(i, name) for i, name in enumerate(("input", "other")))
    if len(call.inputs) == 2:
        shapes = {call.shape(node) for node in call.inputs}
        return WeightedSum((1.0, sign)) if len(shapes) == 1 else None
    weight, constant = (1.0, sign * _number(other)) if call.one else (sign, _number(one))
    return shifted(weight, constant)


@CONVERTERS.register("mul", "div")
def _scale(call: GraphCall) -> Operation | None:
    """By a constant; or by a gate."""
    if not _is_tensor(call):
        return None
    if call.one or (len(call.inputs) == 1 and call.operator == "mul"):
        return ElementwiseOperation(call, nonnegative=False)
    gates = [_is_squashed(node) for node in call.inputs]
    if call.operator == "mul" and sum(gates) == 1:
        return gated(gates.index(True))
    return None


def _dense(kernel: NDArray[Any], bias: NDArray[Any] | None) -> Operation:
    """Of a kernel ``(inputs, outputs)``."""
    bias = np.zeros(kernel.shape[-1], kernel.dtype) if bias is None else bias
    return LinearOperation("dense", torch.matmul, kernel, bias)


def _number(value: Any) -> Any:
    return as_array(value) if isinstance(value, torch.Tensor) else value


def _is_softmax(node: fx.Node) -> bool:
    """Whether a node gives a softmax's numbers, perhaps in another form."""
    while operator_of(node.target) in _ROUTING and isinstance(node.args[0], fx.Node):
        node = node.args[0]
    return _PLAIN.get(operator_of(node.target), operator_of(node.target)) == "softmax"


def _is_squashed(node: fx.Node) -> bool:
    return operator_of(node.target) in {"sigmoid", "hardsigmoid"} or _is_softmax(node)
