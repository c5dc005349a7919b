"""Biases of 32 bits after the scales of inputs or weights have changed."""

from __future__ import annotations

import numpy as np
from onnx import helper, numpy_helper

from asterism.localisation.graph import Array, OnnxGraph
from asterism.localisation.matching import constant_value
from asterism.localisation.quantised_nodes import MatchedPair


def rescale_biases(pair: MatchedPair, after: OnnxGraph) -> None:
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


def _scale(graph: OnnxGraph, tensor: str) -> Array | None:
    """The scale of a dequantised tensor, without an axis where there is one of it."""
    node = graph.maker_of(tensor)
    if node is None or node.op_type != "DequantizeLinear":
        return None
    value = graph.value(node.input[1])
    if value is None:
        return None
    return value.reshape(()) if value.size == 1 else value
