"""Layers of ONNX graphs: which tensors are activations, and on which axis their neurons are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from asterism.models.onnx_graphs import node_inputs, topological_order

_RECURRENT = {"GRU", "LSTM", "RNN"}
#: Operators with an activation, those of ONNX Runtime's own set too.
_ACTIVATIONS = {
    *("Celu", "Clip", "Elu", "Erf", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish"),
    *("PRelu", "Relu", "Selu", "Shrink", "Sigmoid", "Softplus", "Softsign", "Swish", "Tanh"),
    *("ThresholdedRelu", "BiasGelu", "FastGelu", "QuickGelu", *_RECURRENT),
}
#: Those whose values, from 0 to 1, say how much of other values goes on.
_GATES = {"HardSigmoid", "Sigmoid", "Softmax"}
_SQUASHING = {"LogSoftmax", "Sigmoid", "Softmax"}
_WEIGHING = {"Conv", "ConvTranspose", "FusedConv", "FusedMatMul", "Gemm", "MatMul"}
#: Operators on each value alone.
_ELEMENTWISE = {
    *("Abs", "Add", "Cast", "Div", "Dropout", "Exp", "Identity", "Log", "Max", "Min", "Mul", "Neg"),
    *("Pow", "Sqrt", "Sub", *(_ACTIVATIONS - _RECURRENT)),
}
#: Operators that only move or select values.
_FORMS = {
    *("Cast", "DequantizeLinear", "Flatten", "Gather", "Identity", "QuantizeLinear", "Reshape"),
    *("Slice", "Squeeze", "Transpose", "Unsqueeze"),
}
_CHANNELS_FIRST = {
    *("AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "FusedConv"),
    *("GlobalAveragePool", "GlobalMaxPool", "InstanceNormalization", "LRN", "MaxPool"),
}


class OnnxLayers:
    """The tensors of a graph that depend on its input.

    Args:
        graph: an ``onnx.GraphProto``.
        given: name of its input.
        ranks: how many axes the floating tensors have whose first axis counts the inputs, by name.

    Attributes:
        axes: the axis of each tensor's neurons, by the tensor's name, in an order in which the
            graph can run. A feature map is one neuron, and so is an entry of a vector.
    """

    def __init__(self, graph: Any, given: str, ranks: Mapping[str, int]) -> None:
        self._ranks = ranks
        self._maker: dict[str, Any] = {}
        self._taken: dict[str, list[str]] = {}
        #: The tensor of which a tensor is a function, value by value.
        self._origin = {given: given}
        self._bent, self._gates = set[str](), set[str]()
        #: Products such as ``x * sigmoid(x)``, with the tensor ``x``.
        self._products: dict[str, str] = {}
        self.axes: dict[str, int] = {}
        for index in topological_order(graph.node):
            node = graph.node[index]
            taken = [n for n in dict.fromkeys(node_inputs(node)) if n in self._origin]
            for name in node.output if taken else ():
                self._add(name, node, taken)

    def _add(self, name: str, node: Any, taken: list[str]) -> None:
        """Note what a tensor is made of, once this is known of what its node takes."""
        kind = node.op_type
        self._maker[name], self._taken[name] = node, taken
        origins = {self._origin[part] for part in taken}
        alone = kind in _ELEMENTWISE and len(origins) == 1
        self._origin[name] = origins.pop() if alone else name
        if alone and (kind in _ACTIVATIONS or self._bent.intersection(taken)):
            self._bent.add(name)
        carries = kind in _ELEMENTWISE | _FORMS and self._gates.issuperset(taken)
        if kind in _GATES or (carries and kind not in _ACTIVATIONS):
            self._gates.add(name)
        if kind == "Mul" and alone:
            if len(taken) == 2 and name in self._bent:
                self._products[name] = self._origin[name]
            elif taken[0] in self._products:
                self._products[name] = self._products[taken[0]]
        if name in self._ranks:
            self.axes[name] = self._axis_of(name, node, taken)

    def _axis_of(self, name: str, node: Any, taken: list[str]) -> int:
        kind, axes = node.op_type, self._ranks[name]
        known = [self.axes[t] for t in taken if t in self.axes and self._ranks[t] == axes]
        order = next((list(a.ints) for a in node.attribute if a.name == "perm"), None)
        if kind in _CHANNELS_FIRST:
            return 1
        if kind in _ELEMENTWISE and known:
            return known[0]
        if kind == "Transpose" and order and known:
            return order.index(known[0])
        weighs = kind in _WEIGHING and len(taken) == 1
        return 1 if axes > 3 and not weighs else axes - 1

    def hidden(self, output: str) -> list[str]:
        """The tensors that are activations on a way to the scores, not those of gates.

        Where there is none, the sums of weighed values, and without such all tensors.

        Args:
            output: the name of the scores, or of probabilities made of them.
        """
        while output in self._maker and self._maker[output].op_type in _FORMS | _SQUASHING:
            output = self._taken[output][0]
        before = set(self._leading_to(output))
        active = {front for _, front in before}
        weighed = {name for name, _ in before if self._maker[name].op_type in _WEIGHING}
        choices = (active, weighed, {name for name, _ in before})
        found = ([name for name in self.axes if name in names] for names in choices)
        return next((names for names in found if names), [])

    def _leading_to(self, scores: str) -> Iterator[tuple[str, str]]:
        """Tensors before the scores, each with the tensor that holds its activation, or nothing.

        That is another one where a recurrent layer counts steps first: its states with their
        inputs in front.
        """
        waiting = [(name, name) for name in self._taken.get(scores, ())]
        seen = set[tuple[str, str]]()
        while waiting:
            name, front = waiting.pop()
            front = name if name in self._ranks else front
            if (name, front) in seen or name not in self._maker:
                continue
            seen.add((name, front))
            node, taken = self._maker[name], self._taken[name]
            is_active = name in self._products or _is_activation(node)
            yield name, front if is_active else ""
            if name in self._products:
                taken = [self._products[name]]
            elif node.op_type in ("MatMul", "Mul"):
                taken = [part for part in taken if part not in self._gates] or taken
            waiting.extend((part, front if node.op_type in _FORMS else part) for part in taken)


def _is_activation(node: Any) -> bool:
    """Whether a node is one, or a fused one that ends in one."""
    fused = any(a.name == "activation" and a.s for a in node.attribute)
    return node.op_type in _ACTIVATIONS or fused
