"""Rewriting ONNX Runtime's operators on 8-bit tensors as float operators between Q and DQ nodes.

A quantised model in the *QOperator* format computes with ``QLinearConv``, ``QLinearMatMul`` and
their like. The *QDQ* format says the same with ``DequantizeLinear``, a float operator and
``QuantizeLinear``, which ONNX Runtime fuses into the former when it opens the file. Here all static
quantisation is brought into this form, so that one method serves both.

Semantics: the operators' pages of ONNX and of ONNX Runtime's contributed operators.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from asterism.models.onnx_graphs import topological_order

#: Where a quantised operator has its inputs: (tensor, scale, zero point) for each, then the
#: output's scale and zero point; and the float operator that it stands for.
_FORMS: dict[str, tuple[str, list[tuple[int, int, int]], tuple[int, int]]] = {
    "QLinearConv": ("Conv", [(0, 1, 2), (3, 4, 5)], (6, 7)),
    "QLinearMatMul": ("MatMul", [(0, 1, 2), (3, 4, 5)], (6, 7)),
    "QLinearAdd": ("Add", [(0, 1, 2), (3, 4, 5)], (6, 7)),
    "QLinearMul": ("Mul", [(0, 1, 2), (3, 4, 5)], (6, 7)),
    "QGemm": ("Gemm", [(0, 1, 2), (3, 4, 5)], (7, 8)),
    "QLinearWhere": ("Where", [(1, 2, 3), (4, 5, 6)], (7, 8)),
    "QLinearSigmoid": ("Sigmoid", [(0, 1, 2)], (3, 4)),
    "QLinearLeakyRelu": ("LeakyRelu", [(0, 1, 2)], (3, 4)),
    "QLinearSoftmax": ("Softmax", [(0, 1, 2)], (3, 4)),
    "QLinearAveragePool": ("AveragePool", [(0, 1, 2)], (3, 4)),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", [(0, 1, 2)], (3, 4)),
    "QLinearReduceMean": ("ReduceMean", [(0, 1, 2)], (3, 4)),
}
#: Attributes that only the quantised operator has; a model that sets one to anything but zero
#: keeps that operator as it is.
_OWN_ATTRIBUTES = ("channels_last", "opset")
#: Operators that only move elements, so that they may stand on integers.
MOVES = frozenset(
    {"MaxPool", "Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Gather"}
    | {"Identity", "DepthToSpace", "SpaceToDepth", "Split", "Expand", "Tile"}
)
_SUFFIX = "_quantized"


class QuantisedOperators:
    """Rewrites a model; :attr:`model` is the result, and the given one is left as it is."""

    def __init__(self, model: Any) -> None:
        self.model = deepcopy(model)
        graph = self.model.graph
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        self._names = {name for node in graph.node for name in (*node.input, *node.output)}
        #: Scale and zero point of each 8-bit tensor, and its float version where there is one.
        self._scales: dict[str, tuple[str, str]] = {}
        self._floats: dict[str, str] = {}
        self._new: list[Any] = []
        nodes = list(graph.node)
        nodes = [nodes[index] for index in topological_order(nodes)]
        for node in nodes:
            if node.op_type == "DequantizeLinear" and node.input[0] not in self._constants:
                self._floats.setdefault(node.input[0], node.output[0])
        for node in nodes:
            self._rewrite(node)
        del graph.node[:]
        nodes = self._new
        graph.node.extend(nodes[index] for index in topological_order(nodes))

    def _rewrite(self, node: Any) -> None:
        if node.op_type == "QuantizeLinear" and len(node.input) > 2:
            self._scales[node.output[0]] = (node.input[1], node.input[2])
        form = _FORMS.get(node.op_type)
        own = [a for a in node.attribute if a.name in _OWN_ATTRIBUTES]
        if form is not None and not any(a.name == "channels_last" and a.i for a in own):
            self._split(node, *form)
        elif node.op_type == "QLinearConcat":
            self._concat(node)
        elif self._moves(node):
            self._move(node)
        else:
            self._new.append(node)

    def _moves(self, node: Any) -> bool:
        """Whether a node only moves integers of one scale, or joins such tensors."""
        scales = {self._scales.get(name) for name in node.input}
        joins = node.op_type == "Concat" and len(scales) == 1 and None not in scales
        return joins or (node.op_type in MOVES and node.input[0] in self._scales)

    def _split(
        self, node: Any, operator: str, inputs: list[tuple[int, int, int]], output: tuple[int, int]
    ) -> None:
        given = list(node.input)
        given += [""] * (max(output) + 1 - len(given))
        axis = 0 if operator == "Conv" else 1
        taken = [self._float(given[t], given[s], given[z], axis) for t, s, z in inputs]
        if operator == "Where":
            taken.insert(0, given[0])
        place = {"Conv": 8, "Gemm": 6}.get(operator)
        if place is not None and place < len(given) and given[place]:
            taken.append(self._bias(given, place, inputs))
        attributes = [a for a in node.attribute if a.name not in _OWN_ATTRIBUTES]
        self._quantised(node, operator, taken, attributes, (given[output[0]], given[output[1]]))

    def _concat(self, node: Any) -> None:
        given = list(node.input)
        triples = [given[i : i + 3] for i in range(2, len(given), 3)]
        taken = [self._float(tensor, scale, zero, 0) for tensor, scale, zero in triples]
        self._quantised(node, "Concat", taken, list(node.attribute), (given[0], given[1]))

    def _move(self, node: Any) -> None:
        """A moving operator on integers; its outputs have its inputs' scale."""
        scale = self._scales[node.input[0]]
        has_scale = [name in self._scales for name in node.input]
        taken = [
            self._float(name, *scale, 0) if is_moved else name
            for name, is_moved in zip(node.input, has_scale, strict=True)
        ]
        self._quantised(node, node.op_type, taken, list(node.attribute), scale)

    def _quantised(
        self, node: Any, operator: str, taken: list[str], attributes: Any, scale: tuple[str, str]
    ) -> None:
        """The float operator and ``QuantizeLinear`` behind it."""
        results = [self._plain(name) for name in node.output]
        new = helper.make_node(operator, taken, results, name=node.name)
        new.attribute.extend(attributes)
        self._new.append(new)
        for result, name in zip(results, node.output, strict=True):
            wanted = [result, *(part for part in scale if part)]
            named = self._fresh(f"{name}_QuantizeLinear")
            quantise = helper.make_node("QuantizeLinear", wanted, [name], name=named)
            self._new.append(quantise)
            self._scales[name] = scale

    def _float(self, tensor: str, scale: str, zero: str, axis: int) -> str:
        """The float version of an 8-bit tensor."""
        if not scale:  # an output of QGemm without a scale is float, and so is its input
            return tensor
        if tensor not in self._floats:
            wanted = [part for part in (tensor, scale, zero) if part]
            name = self._fresh(f"{tensor}_DequantizeLinear_Output")
            per_axis = scale in self._constants and int(np.prod(self._constants[scale].dims)) > 1
            axes = {"axis": axis} if per_axis else {}
            named = self._fresh(f"{tensor}_DequantizeLinear")
            node = helper.make_node("DequantizeLinear", wanted, [name], name=named, **axes)
            self._new.append(node)
            self._floats[tensor] = name
        return self._floats[tensor]

    def _bias(self, given: list[str], place: int, inputs: list[tuple[int, int, int]]) -> str:
        """The float version of a 32-bit bias: its scale is the product of the inputs' scales."""
        scales = [self._constants.get(given[scale]) for _, scale, _ in inputs]
        if given[place] not in self._constants or any(scale is None for scale in scales):
            return given[place]
        values = [numpy_helper.to_array(scale).astype(np.float32) for scale in scales]
        product = np.asarray(values[0] * values[1], np.float32)
        name = self._fresh(f"{given[place]}_scale")
        product = product.reshape(()) if product.size == 1 else product
        self._constants[name] = numpy_helper.from_array(product, name)
        self.model.graph.initializer.append(self._constants[name])
        return self._float(given[place], name, "", 0)

    def _plain(self, name: str) -> str:
        """A name for what was quantised into this tensor: the float model's, where it is free."""
        short = name.removesuffix(_SUFFIX)
        return self._fresh(f"{short}" if short != name else f"{name}_float")

    def _fresh(self, name: str) -> str:
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name


def without_constant_nodes(model: Any) -> None:
    """Turn ``Constant`` nodes that hold a tensor into initialisers, in place."""
    graph = model.graph
    kept = []
    for node in graph.node:
        values = [a.t for a in node.attribute if a.name == "value"]
        if node.op_type == "Constant" and values:
            tensor = deepcopy(values[0])
            tensor.name = node.output[0]
            graph.initializer.append(tensor)
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)
