"""Quantising nodes anew: weights per channel, ranges of outputs measured on the inputs at hand.

A node that is repaired so stays a quantised node.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from onnx import helper, numpy_helper

from asterism.localisation.graph import MICROSOFT, Array, NodePatch, OnnxGraph
from asterism.localisation.matching import (
    MOVES_OF_CONSTANTS,
    constant_value,
    move_values_back,
    tensors_by_counterpart,
)
from asterism.localisation.quantised_nodes import MatchedPair, QuantisedNode, float_operator
from asterism.localisation.reading import PER_CHANNEL_OPSET
from asterism.localisation.scales import SHARES, fit_range, quantise_by_channel
from asterism.models.onnx_graphs import own_opset

#: The output channel's axis of a weight in the second place of a node.
_CHANNELS = {"Conv": 0, "ConvTranspose": 1, "MatMul": -1}
#: Where operators that quantise by themselves take weights, their scales and their zero points.
_BY_THEMSELVES = {
    "DynamicQuantizeLSTM": ((1, 8, 9), (2, 10, 11)),
    "DynamicQuantizeMatMul": ((1, 2, 3),),
    "MatMulIntegerToFloat": ((1, 3, 5),),
}
#: Integers of 16 bits that one of 8 bits is divided into, so that both ends stay.
_FINER = 257
#: Operators whose constants are quantised as a whole.
_ELEMENTWISE = ("Add", "Sub", "Mul", "Div")
#: The range with 16 bits: other inputs have larger values, and one bit costs less than clipping.
_ROOM = np.array([2.0])


@dataclass(frozen=True)
class Precision:
    """The number of bits, 8 or 16, of values that are quantised anew.

    ONNX Runtime has integer kernels for 8 bits on the processor. With 16 it computes such nodes in
    float, and other devices with integers.

    Attributes:
        outputs: those of tensors, and of the constants that operators like ``Add`` take.
        weights: those of weights of convolutions and products.
    """

    outputs: int = 8
    weights: int = 8


class FinerScales:
    """The new constants of all quantised nodes that can be quantised anew.

    Args:
        pair: the matched pair.
        values: the values of :func:`.collect_observed_values`, which ranges are chosen by.
        precision: how many bits there are.
        ranges: of outputs of 8 bits: as they are (``kept``), that of the values (``whole``), or
            maybe a smaller one (``clipped``), which is better for most values, and worse for a
            model that needs its largest ones.
    """

    def __init__(
        self,
        pair: MatchedPair,
        values: Mapping[str, Array],
        precision: Precision | None = None,
        *,
        ranges: Literal["kept", "clipped", "whole"] = "clipped",
    ) -> None:
        self._pair = pair
        self.precision = precision or Precision()
        self._wide = self.precision.outputs > 8
        self._shares = _ROOM if self._wide else SHARES if ranges == "clipped" else SHARES[:1]
        self._keeps = ranges == "kept" and not self._wide
        self._graph = pair.opened.compressed
        self._values = values
        self._owner = tensors_by_counterpart(pair.tensors)
        self._patches = [self._patch(number) for number in range(len(pair.nodes))]

    @property
    def possible(self) -> list[int]:
        """Indices of the nodes for which there are finer scales."""
        return [number for number, patch in enumerate(self._patches) if patch.nodes]

    def applied(
        self,
        chosen: Collection[int],
        finest: Collection[int] = (),
        beside: FinerScales | None = None,
    ) -> MatchedPair:
        """The pair with these nodes of the compressed graph quantised anew.

        Args:
            chosen: indices of nodes.
            finest: those of them that get the constants of ``beside``.
            beside: scales of another precision for the same pair.
        """
        finer = beside or self
        patches = {n: (finer if n in finest else self)._patches[n] for n in sorted(chosen)}
        patches = {n: patch for n, patch in patches.items() if patch.nodes}
        if not patches:
            return self._pair
        model = deepcopy(self._graph.model)
        nodes = list(self._pair.nodes)
        for number, patch in patches.items():
            for index, node in patch.nodes.items():
                model.graph.node[index].CopyFrom(node)
            for name, values in patch.constants.items():
                model.graph.initializer.append(numpy_helper.from_array(values, name))
            first = len(model.graph.node)
            model.graph.node.extend(patch.added)
            added = range(first, len(model.graph.node))
            nodes[number] = replace(nodes[number], body=(*nodes[number].body, *added))
        domains = {node.domain for node in model.graph.node}
        if domains - {entry.domain for entry in model.opset_import} >= {MICROSOFT}:
            model.opset_import.add(domain=MICROSOFT, version=1)
        _rescale_biases(self._pair, OnnxGraph(model))
        opened = replace(self._pair.opened, compressed=OnnxGraph(model))
        return replace(self._pair, opened=opened, nodes=tuple(nodes))

    def _patch(self, number: int) -> NodePatch:
        node = self._pair.nodes[number]
        patch = NodePatch(self._graph, f"finer/{number}")
        for index in node.body:
            self._constants(node, index, patch)
        if not self._keeps:
            self._ranges(node, patch)
        if self._wide:
            self._divide_ranges(node, patch)
        return patch

    def _constants(self, node: QuantisedNode, index: int, patch: NodePatch) -> None:
        """New constants for one node of the compressed graph, from the original's."""
        part = self._graph.nodes[index]
        if part.op_type in _ELEMENTWISE:
            for place in range(len(part.input)):
                self._stored(index, place, -1, self.precision.outputs, patch)
            return
        if part.op_type == "Gather":
            self._stored(index, 0, 0, self.precision.weights, patch)
            return
        if part.op_type in _BY_THEMSELVES:
            self._own_weights(index, patch)
            return
        axis = _CHANNELS.get(float_operator(part))
        if part.op_type == "Gemm":
            axis = 0 if any(a.name == "transB" and a.i for a in part.attribute) else 1
        values = self._pair.constant(index, 1)
        if values is None or axis is None or not np.isfinite(values).all():
            return
        axis %= values.ndim
        if not part.op_type.endswith("Integer"):
            self._stored(index, 1, axis, self.precision.weights, patch)
        elif self._wide:
            self._wide_product(node, index, values, axis, patch)
        else:
            self._integer_weights(node, index, values, axis, patch)

    def _stored(self, index: int, place: int, axis: int, bits: int, patch: NodePatch) -> None:
        """New values of a quantised constant that a node takes."""
        graph = self._graph
        wanted = self._pair.constant(index, place)
        dequantise = graph.maker.get(graph.nodes[index].input[place])
        while dequantise is not None and graph.nodes[dequantise].op_type in MOVES_OF_CONSTANTS:
            node = graph.nodes[dequantise]
            before = constant_value(graph, node.input[0])
            if wanted is None or before is None:
                return
            wanted, axis = move_values_back(node, wanted, axis, before.shape)
            dequantise = graph.maker.get(node.input[0])
        if axis >= 0 and own_opset(graph.model) < PER_CHANNEL_OPSET:
            axis = -1
        if wanted is None or dequantise is None or not np.isfinite(wanted).all():
            return
        stored = graph.value(graph.nodes[dequantise].input[0])
        if graph.nodes[dequantise].op_type != "DequantizeLinear" or stored is None:
            return
        if stored.shape == wanted.shape and stored.dtype.itemsize == 1:
            dtype = stored.dtype if bits == 8 else np.dtype(np.int16)
            patch.dequantise(dequantise, *quantise_by_channel(wanted, axis, dtype), axis)

    def _own_weights(self, index: int, patch: NodePatch) -> None:
        """New weights of a node that quantises by itself; 16 bits have no such operator."""
        part = self._graph.nodes[index]
        if self._wide:
            return
        for place, scale_place, zero_place in _BY_THEMSELVES[part.op_type]:
            weights, stored = (
                self._pair.constant(index, place),
                self._graph.value(part.input[place]),
            )
            if weights is None or stored is None or not np.isfinite(weights).all():
                continue
            if part.op_type == "DynamicQuantizeLSTM":  # it takes them turned, by directions
                turned = weights.transpose(0, 2, 1)
                sides = [quantise_by_channel(side, 1, stored.dtype) for side in turned]
                quantised = tuple(np.stack(parts) for parts in zip(*sides, strict=True))
            else:
                quantised = quantise_by_channel(weights, weights.ndim - 1, stored.dtype)
            if quantised[0].shape == stored.shape:
                places = (place, scale_place, zero_place)
                patch.replace(index, dict(zip(places, quantised, strict=True)))

    def _integer_weights(
        self, node: QuantisedNode, index: int, weights: Array, axis: int, patch: NodePatch
    ) -> None:
        """New weights of a dynamically quantised node."""
        graph = self._graph
        part = graph.nodes[index]
        stored = graph.value(part.input[1])
        takers = [
            (i, place)
            for i in node.body
            if graph.nodes[i].op_type == "Mul"
            for place, name in enumerate(graph.nodes[i].input)
            if graph.value(name) is not None and _is_dynamic(graph, graph.nodes[i], place)
        ]
        if stored is None or stored.shape != weights.shape or len(takers) != 1:
            return
        values, scale, zero = quantise_by_channel(weights, axis, stored.dtype)
        shape = [1] * weights.ndim
        shape[1 % len(shape)] = scale.size
        wide = scale.reshape(shape) if part.op_type == "ConvInteger" else scale
        one_zero = np.asarray(zero.flat[0], stored.dtype)
        patch.replace(index, {1: values, 3: one_zero})
        patch.replace(takers[0][0], {takers[0][1]: wide})

    def _wide_product(
        self, node: QuantisedNode, index: int, wanted: Array, axis: int, patch: NodePatch
    ) -> None:
        """A product of an input with a fixed range, in the place of a dynamically quantised one."""
        graph = self._graph
        part = graph.nodes[index]
        quantise, result = graph.maker_of(part.input[0]), _scaled_result(graph, node, part)
        if quantise is None or quantise.op_type != "DynamicQuantizeLinear" or result < 0:
            return
        (source,) = quantise.input
        observed = self._values.get(self._owner.get(source, ""))
        if observed is None:
            return
        inputs = patch.quantised(source, *fit_range(observed, np.uint16, self._shares))
        dtype = np.int8 if self.precision.weights == 8 else np.int16
        weights = patch.stored(str(index), *quantise_by_channel(wanted, axis, dtype), axis)
        operator = float_operator(part)
        patch.product(result, operator, part.attribute, (inputs, weights))

    def _ranges(self, node: QuantisedNode, patch: NodePatch) -> None:
        """New scales of the quantisers behind a node's outputs, one for those that shared one."""
        graph = self._graph
        shared: dict[tuple[bytes, ...], list[str]] = {}
        for tensor in node.outputs:
            part = self._pair.tensors[tensor]
            if part.quantiser and tensor in self._values:
                given = graph.nodes[part.quantiser[0]].input
                values = [graph.value(name) for name in given[1:]]
                if len(values) == 2 and all(v is not None and v.size == 1 for v in values):
                    key = tuple(v.tobytes() for v in values if v is not None)
                    shared.setdefault(key, []).append(tensor)
        for tensors in shared.values():
            if not self._wide and any(self._is_made_by(tensor, "Softmax") for tensor in tensors):
                continue  # ONNX Runtime's kernel of integers takes no other scale than 1/256
            quantisers = [i for t in tensors for i in self._pair.tensors[t].quantiser]
            zero = graph.value(graph.nodes[quantisers[0]].input[2])
            assert zero is not None
            observed = np.concatenate([self._values[tensor] for tensor in tensors])
            dtype = np.dtype(np.uint16) if self._wide else zero.dtype
            is_bound = any(self._stands_for_clip(tensor) for tensor in tensors)
            shares = SHARES[:1] if self._wide and is_bound else self._shares
            scale, point = fit_range(observed, dtype, shares)
            for index in quantisers:
                patch.requantise(index, scale, point)

    def _divide_ranges(self, node: QuantisedNode, patch: NodePatch) -> None:
        """Finer steps within the same range, where no values were observed."""
        graph = self._graph
        parts = [self._pair.tensors[tensor] for tensor in node.outputs]
        behind = {name for part in parts for name in (part.raw, *part.final)}
        takers = [i for name in sorted(behind) for i in graph.takers.get(name, ())]
        for index in dict.fromkeys((*node.body, *takers)):
            if graph.nodes[index].op_type != "QuantizeLinear" or index in patch.nodes:
                continue
            pair = [index, *graph.takers.get(graph.nodes[index].output[0], ())]
            is_pair = all(graph.nodes[i].op_type == "DequantizeLinear" for i in pair[1:])
            scale, zero = (graph.value(name) for name in [*graph.nodes[index].input, "", ""][1:3])
            if scale is None or zero is None or zero.dtype.itemsize > 1 or not is_pair:
                continue
            if graph.nodes[index].output[0] in graph.outputs:
                continue
            lowest = int(np.iinfo(zero.dtype).min)
            point = ((zero.astype(np.int64) - lowest) * _FINER).astype(np.uint16)
            for i in pair:
                patch.requantise(i, (scale / _FINER).astype(np.float32), point)

    def _stands_for_clip(self, tensor: str) -> bool:
        """Whether the compressed graph clips a tensor by the range of its quantiser alone."""
        given = self._graph.maker_of(self._pair.tensors[tensor].raw)
        return self._is_made_by(tensor, "Clip") and (given is None or given.op_type != "Clip")

    def _is_made_by(self, tensor: str, operator: str) -> bool:
        node = self._pair.opened.original.maker_of(tensor)
        return node is not None and node.op_type == operator


def _is_dynamic(graph: OnnxGraph, node: Any, place: int) -> bool:
    """Whether the other factor is the scale that was measured on the input as it came."""
    maker = graph.maker_of(node.input[1 - place])
    is_measured = maker is not None and maker.op_type == "DynamicQuantizeLinear"
    return is_measured and node.input[1 - place] == maker.output[1]


def _scaled_result(graph: OnnxGraph, node: QuantisedNode, product: Any) -> int:
    """Index of the node that multiplies a dynamic product with its scales; -1 of none."""
    casts = {graph.nodes[i].output[0] for i in graph.takers.get(product.output[0], ())}
    products = [
        i for i in node.body if graph.nodes[i].op_type == "Mul" and casts & {*graph.nodes[i].input}
    ]
    return products[0] if len(products) == 1 else -1


def _rescale_biases(pair: MatchedPair, after: OnnxGraph) -> None:
    """Quantise biases anew where the scale of an input or of the weights is another, in place.

    ONNX Runtime's integer kernels take it for granted that a bias of 32 bits has the product of
    both scales.
    """
    before = pair.opened.compressed
    for index, node in enumerate(after.nodes):
        if len(node.input) < 3 or node.op_type not in ("Conv", "Gemm"):
            continue
        bias = after.maker.get(node.input[2])
        scales = [_scale_of(after, name) for name in node.input[:2]]
        former = [_scale_of(before, name) for name in before.nodes[index].input[:2]]
        if bias is None or any(s is None for s in (*scales, *former)):
            continue
        pairs = zip(scales, former, strict=True)
        if all(np.array_equal(s, f) for s, f in pairs if s is not None and f is not None):
            continue
        dequantise = after.nodes[bias]
        stored = after.value(dequantise.input[0])
        value = pair.constant(index, 2)
        if value is None:
            value = constant_value(after, node.input[2])
        if dequantise.op_type != "DequantizeLinear" or value is None or stored is None:
            continue
        first, second = scales
        assert first is not None and second is not None
        limits = np.iinfo(np.int32)
        # With outputs of 16 bits the product may be too fine for a bias of 32.
        room = np.abs(value).max(initial=0) / limits.max
        scale = np.asarray(np.maximum(first * second, room), np.float32)
        levels = np.clip(np.rint(value / scale), limits.min, limits.max).astype(np.int32)
        graph = after.model.graph
        target = graph.node[bias]
        names = [f"finer/bias/{bias}", f"finer/bias/{bias}/scale"]
        graph.initializer.append(numpy_helper.from_array(levels, names[0]))
        graph.initializer.append(numpy_helper.from_array(scale, names[1]))
        target.input[:] = names
        # A Gemm's bias may have a first axis of length 1; channels are along the last.
        axes = [helper.make_attribute("axis", levels.ndim - 1)] if scale.size > 1 else []
        del target.attribute[:]
        target.attribute.extend(axes)


def _scale_of(graph: OnnxGraph, tensor: str) -> Array | None:
    """The scale of a dequantised tensor, without an axis where there is one of it."""
    node = graph.maker_of(tensor)
    if node is None or node.op_type != "DequantizeLinear":
        return None
    value = graph.value(node.input[1])
    if value is None:
        return None
    return value.reshape(()) if value.size == 1 else value
