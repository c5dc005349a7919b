"""A network as the small set of operations that relevance passes through.

Layer-wise relevance propagation asks of each operation only how it shares relevance among its
inputs. There are five answers, and every supported layer is made of operations of these kinds:

* :class:`LinearOperation` (dense, convolution, average pooling): shared by a rule of LRP;
* :class:`RoutingOperation` (flatten, padding, max pooling, concatenation, …): each output value
  *is* one input value, whose place takes the relevance;
* :class:`ElementwiseOperation` (activations, dropout, batch normalisation that could not be
  folded): each output value depends on one input value, which takes the relevance;
* :class:`WeightedSum` (residual additions): shared in proportion to the summands;
* :class:`InputWeightedOperation` (attention, layer normalisation): shared in proportion to what is
  weighed, with the weights taken for constants.

An :class:`OpaqueOperation` has a value, and relevance has no way through it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from asterism.deepimportance.tensor_ops import Tensor, find_tensor_ops

LinearKind = Literal["dense", "convolution", "pooling"]


@dataclass(frozen=True)
class LinearOperation:
    """An operation ``function(x, kernel) + bias``, linear in ``x`` and in ``kernel``.

    Attributes:
        kind: what a composite chooses a rule by.
        function: the map, without parameters of its own.
        kernel: weights, the output channel on the last axis (``depthwise``: on the last two).
        bias: per output channel.
        depthwise: whether the kernel is a depthwise one, ``(…, in, multiplier)``.
        places: how many axes of the output stand behind its channels.
    """

    kind: LinearKind
    function: Callable[[Tensor, Tensor], Tensor]
    kernel: NDArray[Any]
    bias: NDArray[Any]
    depthwise: bool = False
    places: int = 0

    def forward(self, x: Tensor) -> Tensor:
        """The output, in the dtype of ``x``."""
        kernel, bias = self.parameters(x)
        return self.function(x, kernel) + bias

    def parameters(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Kernel and bias as constants of the dtype of ``like``."""
        ops, shape = find_tensor_ops(like), (*self.bias.shape, *(1,) * self.places)
        return ops.constant(self.kernel, like), ops.constant(self.bias.reshape(shape), like)

    def scaled(self, scale: NDArray[Any], shift: NDArray[Any]) -> LinearOperation:
        """This operation followed by ``scale * z + shift`` per output channel."""
        shape = self.kernel.shape[-2:] if self.depthwise else (-1,)
        return replace(
            self, kernel=self.kernel * scale.reshape(shape), bias=self.bias * scale + shift
        )


@dataclass(frozen=True)
class RoutingOperation:
    """An operation that moves, repeats, drops or selects values; its Jacobian has zeros and ones.

    Attributes:
        function: the map.
        keeps_vector: whether all that it does is to give other axes to one vector, in its order.
    """

    function: Callable[..., Tensor]
    keeps_vector: bool = False

    def forward(self, *xs: Tensor) -> Tensor:
        """The output."""
        return self.function(*xs)


@dataclass(frozen=True)
class ElementwiseOperation:
    """An operation on each value alone.

    Attributes:
        function: the map.
        nonnegative: whether its values are never below zero.
        squashes: whether it turns scores into probabilities (softmax, sigmoid); at the network's
            end relevance then starts before it, at the logits.
        channels: ``(scale, shift)`` where it is affine per channel, so that it may be folded.
    """

    function: Callable[[Tensor], Tensor]
    nonnegative: bool
    squashes: bool = False
    channels: tuple[NDArray[Any], NDArray[Any]] | None = None

    def forward(self, x: Tensor) -> Tensor:
        """The output."""
        return self.function(x)


@dataclass(frozen=True)
class WeightedSum:
    """A weighted sum of tensors of one shape."""

    weights: tuple[float, ...]

    def forward(self, *xs: Tensor) -> Tensor:
        """The output."""
        parts = [x if w == 1 else w * x for w, x in zip(self.weights, xs, strict=True)]
        return find_tensor_ops(xs[0]).total(parts)


@dataclass(frozen=True)
class InputWeightedOperation:
    """An operation linear in one input, with weights that depend on all inputs.

    Relevance takes the weights for constants: Ali et al., "XAI for Transformers: better
    explanations through conservative propagation", ICML 2022, for attention (section 3.3, the rule
    AH) and layer normalisation (the rule LN).

    Attributes:
        weights: from the inputs.
        function: ``(x, weights)`` to the output, but for the bias.
        bias: added to the output.
        weighed: position of ``x`` among the inputs.
    """

    weights: Callable[..., Tensor]
    function: Callable[[Tensor, Tensor], Tensor]
    bias: NDArray[Any] | None = None
    weighed: int = 0

    def forward(self, *xs: Tensor) -> Tensor:
        """The output."""
        output = self.function(xs[self.weighed], self.weights(*xs))
        return (
            output
            if self.bias is None
            else output + find_tensor_ops(output).constant(self.bias, output)
        )


def shifted(weight: float, constant: Any) -> InputWeightedOperation:
    """``weight * x + constant``, whose constant keeps its part of relevance."""
    return InputWeightedOperation(lambda x: weight, lambda x, w: x * w, np.asarray(constant))


def gated(gate: int) -> InputWeightedOperation:
    """The product of two tensors, of which the one at this position takes no relevance.

    Arras et al., "Explaining recurrent neural network predictions in sentiment analysis", WASSA
    2017.
    """
    return InputWeightedOperation(lambda *xs: xs[gate], lambda x, w: x * w, weighed=1 - gate)


def layer_normalised(
    axes: Sequence[int],
    epsilon: float,
    scale: NDArray[Any] | None,
    shift: NDArray[Any] | None,
) -> InputWeightedOperation:
    """Layer normalisation over the last axes, whose deviation is a weight.

    Args:
        axes: positions of the axes.
        epsilon: added to the variance.
        scale: of the lengths of these axes, or None.
        shift: likewise.
    """

    def centred(x: Tensor) -> Tensor:
        return x - find_tensor_ops(x).mean(x, axes)

    def weights(x: Tensor) -> Tensor:
        tensor_ops = find_tensor_ops(x)
        inverse = (tensor_ops.mean(centred(x) ** 2, axes) + epsilon) ** -0.5
        return inverse if scale is None else inverse * tensor_ops.constant(scale, x)

    return InputWeightedOperation(weights, lambda x, w: centred(x) * w, shift)


@dataclass(frozen=True)
class OpaqueOperation:
    """Any other operation.

    Attributes:
        function: from the inputs, which need not be tensors.
        told: what messages call it.
        supported: kinds that messages list as those that relevance passes.
    """

    function: Callable[..., Any]
    told: str
    supported: Sequence[str] = ()

    def forward(self, *xs: Any) -> Any:
        """The output."""
        return self.function(*xs)


Operation = (
    LinearOperation
    | RoutingOperation
    | ElementwiseOperation
    | WeightedSum
    | InputWeightedOperation
    | OpaqueOperation
)


@dataclass(frozen=True)
class NetworkNode:
    """An operation applied to the values of earlier nodes; node 0 is the network's input."""

    operation: Operation | None
    inputs: tuple[int, ...]
    nonnegative: bool


@dataclass
class Network:
    """Operations in topological order.

    Attributes:
        nodes: the first is the input (without operation), the last the output.
        outputs_of: node that holds the output of each layer, by the layer's name.
        low: smallest value that the network's input can take, for all or for each channel.
        high: largest such value.
    """

    low: float | NDArray[Any]
    high: float | NDArray[Any]
    nodes: list[NetworkNode] = field(default_factory=list)
    outputs_of: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.nodes:
            self.nodes.append(NetworkNode(None, (), bool(np.all(np.asarray(self.low) >= 0))))

    def add(self, operation: Operation, *inputs: int) -> int:
        """Append a node, and return its index."""
        self.nodes.append(NetworkNode(operation, inputs, self._is_nonnegative(operation, inputs)))
        return len(self.nodes) - 1

    @property
    def start(self) -> int:
        """The node where relevance starts: the output, or the logits before a softmax.

        The softmax may have other axes than the output.
        """
        index = last = len(self.nodes) - 1
        while getattr(self.nodes[index].operation, "keeps_vector", False):
            index = self.nodes[index].inputs[0]
        operation = self.nodes[index].operation
        if isinstance(operation, ElementwiseOperation) and operation.squashes:
            return self.nodes[index].inputs[0]
        return last

    def is_squashed(self, index: int) -> bool:
        """Whether a node gives a softmax's or a sigmoid's numbers, perhaps in another form."""
        while isinstance(self.nodes[index].operation, RoutingOperation):
            index = self.nodes[index].inputs[0]
        return bool(getattr(self.nodes[index].operation, "squashes", False))

    def values(self, x: Tensor) -> list[Tensor]:
        """The value of every node for a batch ``x`` of the network's input."""
        values = [x]
        for node in self.nodes[1:]:
            assert node.operation is not None
            values.append(node.operation.forward(*(values[i] for i in node.inputs)))
        return values

    def folded(self) -> Network:
        """The same network, with scaling by channel folded into the linear operation before it.

        That is what batch normalisation after a convolution is at inference. It stays on its own
        where something else reads the convolution's output too.
        """
        readers = [0] * len(self.nodes)
        for node in self.nodes:
            for i in node.inputs:
                readers[i] += 1
        result = Network(self.low, self.high)
        place = {0: 0}
        for index, node in enumerate(self.nodes[1:], start=1):
            assert node.operation is not None
            inputs = tuple(place[i] for i in node.inputs)
            before = result.nodes[inputs[0]].operation
            channels = getattr(node.operation, "channels", None)
            if channels and isinstance(before, LinearOperation) and readers[node.inputs[0]] == 1:
                result._replace(inputs[0], before.scaled(*channels))
                place[index] = inputs[0]
            else:
                place[index] = result.add(node.operation, *inputs)
        result.outputs_of = {name: place[index] for name, index in self.outputs_of.items()}
        return result

    def _replace(self, index: int, operation: Operation) -> None:
        """Put another operation in a node's place; what is known of its values may change."""
        inputs = self.nodes[index].inputs
        self.nodes[index] = NetworkNode(operation, inputs, self._is_nonnegative(operation, inputs))

    def _is_nonnegative(self, operation: Operation, inputs: tuple[int, ...]) -> bool:
        inherited = all(self.nodes[i].nonnegative for i in inputs)
        if isinstance(operation, LinearOperation):
            known = bool(np.all(operation.kernel >= 0) and np.all(operation.bias >= 0))
            return inherited and known
        if isinstance(operation, ElementwiseOperation):
            return operation.nonnegative
        if isinstance(operation, WeightedSum):
            return inherited and all(w >= 0 for w in operation.weights)
        return inherited and isinstance(operation, RoutingOperation)

    def leading_from(self, index: int) -> set[int]:
        """The node, and all nodes whose values depend on it."""
        found = {index}
        for later in range(index + 1, len(self.nodes)):
            if found.intersection(self.nodes[later].inputs):
                found.add(later)
        return found
