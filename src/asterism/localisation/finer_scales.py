"""Quantising nodes anew: weights by channels, ranges of outputs measured on the given inputs.

A node that is repaired so stays an integer node. Weights get one scale for each output channel,
``max |w| / (levels - 1)`` symmetrically (Jacob et al., CVPR 2018; Krishnamoorthi, arXiv:1806.08342,
section 3.1). An output's range is, of the range of its values and of smaller ones, that
which gives the least mean squared error (Banner et al., NeurIPS 2019, section 3, by search).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from asterism.localisation.graph import Graph
from asterism.localisation.matching import constant_value
from asterism.localisation.quantised_nodes import MatchedPair, QuantisedNode
from asterism.localisation.reading import with_outputs
from asterism.localisation.running import FLOATS, Array, Run, Session, number_of_calls

#: The output channel's axis of a weight in the second place of a node.
_CHANNELS = {"Conv": 0, "ConvInteger": 0, "ConvTranspose": 1, "MatMul": -1, "MatMulInteger": -1}
#: Shares of the measured range that are tried.
_SHARES = np.concatenate([np.linspace(1, 0.9, 6), np.linspace(0.85, 0.3, 12)])
#: Values of a tensor that a range is chosen by.
_SAMPLE = 50_000
_PER_CHANNEL_OPSET = 13
#: Bits of wide outputs, ONNX's first operator set that has them, and where they are before it.
_WIDE, _WIDE_OPSET, _MICROSOFT = 16, 21, "com.microsoft"


class FinerScales:
    """The new constants of all quantised nodes that can be quantised anew.

    Args:
        pair: the matched pair.
        feeds: inputs that the ranges of outputs are measured on.
        bits: of the quantised outputs, 8 or 16. ONNX Runtime has integer kernels for 8 on the
            processor; with 16 it computes such nodes in float, and other devices with integers.
        clipped: whether a range may be smaller than that of the values. A smaller one is better for
            most values, and worse for a model that needs its largest ones.
    """

    def __init__(
        self, pair: MatchedPair, feeds: Sequence[Run], bits: int = 8, *, clipped: bool = True
    ) -> None:
        self._pair = pair
        self._shares = _SHARES if clipped else _SHARES[:1]
        self._bits = bits
        self._graph = pair.opened.compressed
        self._values = _observed(pair, feeds)
        self._patches = [self._patch(number) for number in range(len(pair.nodes))]

    @property
    def possible(self) -> list[int]:
        """Indices of the nodes for which there are finer scales."""
        return [number for number, patch in enumerate(self._patches) if patch.nodes]

    @property
    def has_ranges(self) -> bool:
        """Whether outputs have fixed ranges, as they have in all but dynamic quantisation."""
        return bool(self._values)

    def applied(self, chosen: Collection[int]) -> MatchedPair:
        """The pair with these nodes of the compressed graph quantised anew."""
        nodes = {i: n for number in sorted(chosen) for i, n in self._patches[number].nodes.items()}
        if not nodes:
            return self._pair
        graph = self._graph
        model = type(graph.model)()
        model.CopyFrom(graph.model)
        for index, node in nodes.items():
            model.graph.node[index].CopyFrom(node)
        for number in sorted(chosen):
            for name, values in self._patches[number].constants.items():
                model.graph.initializer.append(numpy_helper.from_array(values, name))
        if self._bits == _WIDE and not any(e.domain == _MICROSOFT for e in model.opset_import):
            model.opset_import.add(domain=_MICROSOFT, version=1)
        patched = Graph(model)
        _rescale_biases(self._pair, patched)
        return replace(self._pair, opened=replace(self._pair.opened, compressed=Graph(model)))

    def _patch(self, number: int) -> _Patch:
        node = self._pair.nodes[number]
        patch = _Patch(f"finer/{number}")
        for index in node.body:
            self._weights(node, index, patch)
        self._ranges(node, patch)
        return patch

    def _weights(self, node: QuantisedNode, index: int, patch: _Patch) -> None:
        """New weights for one node of the compressed graph, from the original's."""
        graph = self._graph
        part = graph.nodes[index]
        wanted = self._pair.constant(index, 1)
        axis = _CHANNELS.get(part.op_type)
        if part.op_type == "Gemm":
            axis = 0 if any(a.name == "transB" and a.i for a in part.attribute) else 1
        if wanted is None or axis is None or not np.isfinite(wanted).all():
            return
        if part.op_type.endswith("Integer"):
            self._integer_weights(node, index, wanted, axis, patch)
            return
        dequantise = graph.maker.get(part.input[1])
        if dequantise is None or graph.nodes[dequantise].op_type != "DequantizeLinear":
            return
        stored = graph.value(graph.nodes[dequantise].input[0])
        if stored is None or stored.shape != wanted.shape or stored.dtype.itemsize != 1:
            return
        axis %= wanted.ndim
        if graph.opset() < _PER_CHANNEL_OPSET:
            axis = -1
        values, scale, zero = by_channel(wanted, axis, stored.dtype)
        patch.dequantise(graph, dequantise, values, scale, zero, axis)

    def _integer_weights(
        self, node: QuantisedNode, index: int, wanted: Array, axis: int, patch: _Patch
    ) -> None:
        """New weights of a dynamically quantised node."""
        graph = self._graph
        part = graph.nodes[index]
        stored = graph.value(part.input[1])
        found = [
            (i, place)
            for i in node.body
            if graph.nodes[i].op_type == "Mul"
            for place, name in enumerate(graph.nodes[i].input)
            if graph.value(name) is not None and _is_dynamic(graph, graph.nodes[i], place)
        ]
        if stored is None or stored.shape != wanted.shape or len(found) != 1 or len(part.input) < 4:
            return
        values, scale, zero = by_channel(wanted, axis % wanted.ndim, stored.dtype)
        shape = [1] * wanted.ndim
        shape[1 % len(shape)] = scale.size
        wide = scale.reshape(shape) if part.op_type == "ConvInteger" else scale
        one_zero = np.asarray(zero.flat[0], stored.dtype)
        patch.replace(graph, index, {1: values, 3: one_zero})
        patch.replace(graph, found[0][0], {found[0][1]: wide})

    def _ranges(self, node: QuantisedNode, patch: _Patch) -> None:
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
            quantisers = [i for t in tensors for i in self._pair.tensors[t].quantiser]
            zero = graph.value(graph.nodes[quantisers[0]].input[2])
            assert zero is not None
            observed = np.concatenate([self._values[tensor] for tensor in tensors])
            dtype = np.dtype(np.uint16) if self._bits == _WIDE else zero.dtype
            scale, point = best_range(observed, dtype, self._shares)
            for index in quantisers:
                patch.replace(graph, index, {1: scale, 2: point})
                if self._bits == _WIDE and graph.opset() < _WIDE_OPSET:
                    patch.nodes[index].domain = _MICROSOFT


class _Patch:
    """Nodes of a graph that get other constants.

    Args:
        prefix: what the new constants' names begin with.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.nodes: dict[int, Any] = {}
        self.constants: dict[str, Array] = {}

    def replace(self, graph: Graph, index: int, inputs: Mapping[int, Array]) -> None:
        """Other constants as inputs of a node, by their places."""
        node = self.nodes.get(index)
        if node is None:
            node = type(graph.nodes[index])()
            node.CopyFrom(graph.nodes[index])
            self.nodes[index] = node
        for place, values in inputs.items():
            name = f"{self._prefix}/{index}/{place}"
            node.input[place] = name
            self.constants[name] = values

    def dequantise(
        self, graph: Graph, index: int, values: Array, scale: Array, zero: Array, axis: int
    ) -> None:
        """Other constants of a ``DequantizeLinear`` node; an axis below 0 is none."""
        self.replace(graph, index, {0: values, 1: scale})
        node = self.nodes[index]
        del node.input[2:]
        node.input.append("")
        self.replace(graph, index, {2: zero})
        del node.attribute[:]
        if axis >= 0:
            node.attribute.append(helper.make_attribute("axis", axis))


def by_channel(wanted: Array, axis: int, dtype: Any) -> tuple[Array, Array, Array]:
    """Weights of 8 bits with a symmetric scale for each channel; for all, if the axis is below 0.

    Returns:
        The integers, the scales float32 and the zero points.
    """
    limits = np.iinfo(dtype)
    middle = (int(limits.max) + int(limits.min) + 1) // 2
    highest = int(limits.max) - middle
    others = tuple(i for i in range(wanted.ndim) if i != axis)
    largest = np.abs(wanted).max(axis=others if axis >= 0 else None, keepdims=True)
    scale = np.where(largest > 0, largest / highest, 1.0).astype(np.float32)
    levels = np.rint(wanted / scale) + middle
    values = np.clip(levels, middle - highest, limits.max).astype(dtype)
    scale = scale.reshape(-1) if axis >= 0 else scale.reshape(())
    return values, scale, np.full(scale.shape, middle, dtype)


def best_range(observed: Array, dtype: Any, shares: Array = _SHARES) -> tuple[Array, Array]:
    """The scale, float32, and the zero point with the least squared error on these values.

    Args:
        observed: values.
        dtype: of the integers.
        shares: of the values' range, that are tried.
    """
    limits = np.iinfo(dtype)
    low, high = min(0.0, float(observed.min())), max(0.0, float(observed.max()))
    best: tuple[float, Array, Array] | None = None
    for share in shares:
        scale = np.float32((high - low) * share / (int(limits.max) - int(limits.min)))
        if not scale > 0:
            scale = np.float32(1)
        point = np.clip(np.rint(limits.min - low * share / scale), limits.min, limits.max)
        levels = np.clip(np.rint(observed / scale) + point, limits.min, limits.max)
        error = float(np.square((levels - point) * scale - observed).sum())
        if best is None or error < best[0]:
            best = (error, np.asarray(scale, np.float32), np.asarray(point, dtype))
    assert best is not None
    return best[1], best[2]


def _is_dynamic(graph: Graph, node: Any, place: int) -> bool:
    """Whether the other factor is the scale that was measured on the input as it came."""
    maker = graph.maker_of(node.input[1 - place])
    is_measured = maker is not None and maker.op_type == "DynamicQuantizeLinear"
    return is_measured and node.input[1 - place] == maker.output[1]


def _observed(pair: MatchedPair, feeds: Iterable[Run]) -> dict[str, Array]:
    """The original's values, with the least and the largest, of tensors with a quantiser."""
    opened = pair.opened
    kinds = opened.original_types
    tensors = [t for t, part in pair.tensors.items() if part.quantiser and kinds[t] in FLOATS]
    made = sorted(tensor for tensor in tensors if tensor in opened.original.maker)
    session = Session(with_outputs(opened.original.model, made), "the original", optimised=False)
    parts: dict[str, list[Array]] = {}
    runs = list(feeds)
    count = sum(number_of_calls(run) for run in runs)
    for values in (call for run in runs for call in session.calls(run)):
        for tensor in tensors:
            flat = np.asarray(values[tensor], np.float64).reshape(-1)
            flat = flat[np.isfinite(flat)]
            if flat.size:
                step = max(1, flat.size * count // _SAMPLE)
                ends = np.array([flat.min(), flat.max()])
                parts.setdefault(tensor, []).append(np.concatenate([ends, flat[::step]]))
    return {tensor: np.concatenate(some) for tensor, some in parts.items()}


def _rescale_biases(pair: MatchedPair, after: Graph) -> None:
    """Quantise biases anew where the scale of an input or of the weights is another, in place.

    ONNX Runtime's integer kernels take it for granted that a bias of 32 bits has the product of
    both scales.
    """
    before = pair.opened.compressed
    for index, node in enumerate(after.nodes):
        if len(node.input) < 3 or node.op_type not in ("Conv", "Gemm"):
            continue
        bias = after.maker.get(node.input[2])
        scales = [_scale(after, name) for name in node.input[:2]]
        former = [_scale(before, name) for name in before.nodes[index].input[:2]]
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


def _scale(graph: Graph, tensor: str) -> Array | None:
    """The scale of a dequantised tensor, without an axis where there is one of it."""
    node = graph.maker_of(tensor)
    if node is None or node.op_type != "DequantizeLinear":
        return None
    value = graph.value(node.input[1])
    if value is None:
        return None
    return value.reshape(()) if value.size == 1 else value
