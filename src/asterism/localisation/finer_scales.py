"""Quantising nodes anew: weights by channels, ranges of outputs measured on given inputs.

A node that is repaired so stays a quantised node. Weights get one scale for each output channel,
``max |w| / (levels - 1)`` symmetrically (Jacob et al., CVPR 2018; Krishnamoorthi, arXiv:1806.08342,
section 3.1). An output's range is, of the range of its values and of smaller ones, that
which gives the least mean squared error (Banner et al., NeurIPS 2019, section 3, by search).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from onnx import numpy_helper

from asterism.localisation.graph import Graph
from asterism.localisation.patches import MICROSOFT, Patch
from asterism.localisation.quantised_nodes import MatchedPair, QuantisedNode
from asterism.localisation.reading import with_outputs
from asterism.localisation.rescaled_biases import rescale_biases
from asterism.localisation.running import FLOATS, Array, Run, Session, number_of_calls

#: The output channel's axis of a weight in the second place of a node.
_CHANNELS = {"Conv": 0, "ConvInteger": 0, "ConvTranspose": 1, "MatMul": -1, "MatMulInteger": -1}
#: Integers of 16 bits that one of 8 bits is divided into, so that both ends stay.
_FINER = 257
#: Operators whose constants are quantised as a whole.
_ELEMENTWISE = ("Add", "Sub", "Mul", "Div")
#: Shares of the measured range that are tried.
_SHARES = np.concatenate([np.linspace(1, 0.9, 6), np.linspace(0.85, 0.3, 12)])
#: The range with 16 bits: other inputs have larger values, and one bit costs less than clipping.
_ROOM = np.array([2.0])
#: Values of a tensor that a range is chosen by.
_SAMPLE = 50_000
_PER_CHANNEL_OPSET = 13


@dataclass(frozen=True)
class Precision:
    """Bits of what is quantised anew, 8 or 16.

    ONNX Runtime has integer kernels for 8 bits on the processor. With 16 it computes such nodes in
    float, and other devices with integers.

    Attributes:
        outputs: of tensors, and of the constants that operators like ``Add`` take.
        weights: of convolutions and products.
    """

    outputs: int = 8
    weights: int = 8


class FinerScales:
    """The new constants of all quantised nodes that can be quantised anew.

    Args:
        pair: the matched pair.
        values: of :func:`observed_values`, which ranges are chosen by.
        precision: how many bits there are.
        clipped: whether a range of 8 bits may be smaller than that of the values. A smaller one is
            better for most values, and worse for a model that needs its largest ones.
    """

    def __init__(
        self,
        pair: MatchedPair,
        values: Mapping[str, Array],
        precision: Precision | None = None,
        *,
        clipped: bool = True,
    ) -> None:
        self._pair = pair
        self.precision = precision or Precision()
        self._wide = self.precision.outputs > 8
        self._shares = _ROOM if self._wide else _SHARES if clipped else _SHARES[:1]
        self._graph = pair.opened.compressed
        self._values = values
        self._owner = _owners(pair)
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
        model = type(self._graph.model)()
        model.CopyFrom(self._graph.model)
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
        rescale_biases(self._pair, Graph(model))
        opened = replace(self._pair.opened, compressed=Graph(model))
        return replace(self._pair, opened=opened, nodes=tuple(nodes))

    def _patch(self, number: int) -> Patch:
        node = self._pair.nodes[number]
        patch = Patch(self._graph, f"finer/{number}")
        for index in node.body:
            self._constants(node, index, patch)
        self._ranges(node, patch)
        if self._wide:
            self._divide_ranges(node, patch)
        return patch

    def _constants(self, node: QuantisedNode, index: int, patch: Patch) -> None:
        """New constants for one node of the compressed graph, from the original's."""
        part = self._graph.nodes[index]
        if part.op_type in _ELEMENTWISE:
            for place in range(len(part.input)):
                self._stored(index, place, -1, self.precision.outputs, patch)
            return
        if part.op_type == "Gather":
            self._stored(index, 0, 0, self.precision.weights, patch)
            return
        axis = _CHANNELS.get(part.op_type)
        if part.op_type == "Gemm":
            axis = 0 if any(a.name == "transB" and a.i for a in part.attribute) else 1
        wanted = self._pair.constant(index, 1)
        if wanted is None or axis is None or not np.isfinite(wanted).all():
            return
        axis %= wanted.ndim
        if not part.op_type.endswith("Integer"):
            self._stored(index, 1, axis, self.precision.weights, patch)
        elif self._wide:
            self._wide_product(node, index, wanted, axis, patch)
        else:
            self._integer_weights(node, index, wanted, axis, patch)

    def _stored(self, index: int, place: int, axis: int, bits: int, patch: Patch) -> None:
        """New values of a quantised constant that a node takes."""
        graph = self._graph
        wanted = self._pair.constant(index, place)
        if axis >= 0 and graph.opset() < _PER_CHANNEL_OPSET:
            axis = -1
        dequantise = graph.maker.get(graph.nodes[index].input[place])
        if wanted is None or dequantise is None or not np.isfinite(wanted).all():
            return
        stored = graph.value(graph.nodes[dequantise].input[0])
        if graph.nodes[dequantise].op_type != "DequantizeLinear" or stored is None:
            return
        if stored.shape == wanted.shape and stored.dtype.itemsize == 1:
            dtype = stored.dtype if bits == 8 else np.dtype(np.int16)
            patch.dequantise(dequantise, *by_channel(wanted, axis, dtype), axis)

    def _integer_weights(
        self, node: QuantisedNode, index: int, wanted: Array, axis: int, patch: Patch
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
        values, scale, zero = by_channel(wanted, axis, stored.dtype)
        shape = [1] * wanted.ndim
        shape[1 % len(shape)] = scale.size
        wide = scale.reshape(shape) if part.op_type == "ConvInteger" else scale
        one_zero = np.asarray(zero.flat[0], stored.dtype)
        patch.replace(index, {1: values, 3: one_zero})
        patch.replace(found[0][0], {found[0][1]: wide})

    def _wide_product(
        self, node: QuantisedNode, index: int, wanted: Array, axis: int, patch: Patch
    ) -> None:
        """A product of an input with a fixed range, in the place of a dynamically quantised one."""
        graph = self._graph
        part = graph.nodes[index]
        quantise, result = graph.maker_of(part.input[0]), _scaled_result(graph, node, part)
        if quantise is None or quantise.op_type != "DynamicQuantizeLinear" or result < 0:
            return
        (taken,) = quantise.input
        observed = self._values.get(self._owner.get(taken, ""))
        if observed is None:
            return
        inputs = patch.quantised(taken, *best_range(observed, np.uint16, self._shares))
        dtype = np.int8 if self.precision.weights == 8 else np.int16
        weights = patch.stored(str(index), *by_channel(wanted, axis, dtype), axis)
        operator = part.op_type.removesuffix("Integer")
        patch.product(result, operator, part.attribute, (inputs, weights))

    def _ranges(self, node: QuantisedNode, patch: Patch) -> None:
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
            dtype = np.dtype(np.uint16) if self._wide else zero.dtype
            is_bound = any(self._stands_for_clip(tensor) for tensor in tensors)
            shares = _SHARES[:1] if self._wide and is_bound else self._shares
            scale, point = best_range(observed, dtype, shares)
            for index in quantisers:
                patch.requantise(index, scale, point)

    def _divide_ranges(self, node: QuantisedNode, patch: Patch) -> None:
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
        wanted = self._pair.opened.original.maker_of(tensor)
        given = self._graph.maker_of(self._pair.tensors[tensor].raw)
        is_clipped = wanted is not None and wanted.op_type == "Clip"
        return is_clipped and (given is None or given.op_type != "Clip")


def by_channel(wanted: Array, axis: int, dtype: Any) -> tuple[Array, Array, Array]:
    """Integers with a symmetric scale for each channel; for all of them, if the axis is below 0.

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


def _scaled_result(graph: Graph, node: QuantisedNode, product: Any) -> int:
    """Index of the node that multiplies a dynamic product with its scales; -1 of none."""
    casts = {graph.nodes[i].output[0] for i in graph.takers.get(product.output[0], ())}
    found = [
        i for i in node.body if graph.nodes[i].op_type == "Mul" and casts & {*graph.nodes[i].input}
    ]
    return found[0] if len(found) == 1 else -1


def _owners(pair: MatchedPair) -> dict[str, str]:
    """The original's tensors by the names of their counterparts."""
    return {n: t for t, part in pair.tensors.items() for n in (part.raw, *part.final)}


def observed_values(pair: MatchedPair, feeds: Iterable[Run]) -> dict[str, Array]:
    """The original's values, with the least and the largest, of tensors that are quantised.

    Args:
        pair: the matched pair.
        feeds: inputs like those that a repaired file will get.
    """
    opened = pair.opened
    kinds, graph, owner = opened.original_types, opened.compressed, _owners(pair)
    dynamic = [n.input[0] for n in graph.nodes if n.op_type == "DynamicQuantizeLinear"]
    quantised = {t for t, part in pair.tensors.items() if part.quantiser}
    quantised |= {owner[name] for name in dynamic if name in owner}
    tensors = [tensor for tensor in pair.tensors if tensor in quantised and kinds[tensor] in FLOATS]
    if not tensors:
        return {}
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
