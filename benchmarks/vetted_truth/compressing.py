"""Compressed ONNX files by ONNX Runtime's own tools, and damage to one node of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from damages import Site, damaged, sites
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from asterism.compression.onnx_quantiser import make_calibration_reader, silence_advice
from vetted_truth.answers import one_by_one
from vetted_truth.networks import Array

#: Compressed files of ONNX.
FORMATS = ("qdq", "qoperator", "dynamic", "half")
#: What may be wrong with the weight of one node, and with its constants.
OF_WEIGHTS = ("pruned", "swapped channels", "wrong axis", "constant")
OF_A_NODE = ("scale", "zero point", "saturated", *OF_WEIGHTS)
#: Operators of which weights and outputs are quantised.
_OPERATORS = ["Conv", "Gemm", "MatMul", "Relu"]
#: What follows a detector's suppression is left as it is.
_IN_FLOAT = ["/corners/MatMul"]


def compressed(model: Any, form: str, feed: Mapping[str, Array], rng: np.random.Generator) -> Any:
    """A compressed version of a model.

    Args:
        model: of ONNX.
        form: of :data:`FORMATS`.
        feed: what ranges are measured on.
        rng: draws further choices.
    """
    if form == "half":
        return convert_float_to_float16(model, keep_io_types=bool(rng.random() < 0.7))
    with tempfile.TemporaryDirectory() as folder, silence_advice():
        source, target = Path(folder) / "model.onnx", Path(folder) / "small.onnx"
        onnx.save(model, source)
        if form == "dynamic":
            types = ["MatMul", "Gemm", "Conv"]
            quantize_dynamic(
                source,
                target,
                op_types_to_quantize=types,
                weight_type=QuantType.QUInt8,
                nodes_to_exclude=_IN_FLOAT,
            )
        else:
            quantize_static(
                source,
                target,
                make_calibration_reader(one_by_one(feed)[:100]),
                quant_format=QuantFormat.QDQ if form == "qdq" else QuantFormat.QOperator,
                op_types_to_quantize=_OPERATORS,
                nodes_to_exclude=_IN_FLOAT,
                per_channel=bool(rng.random() < 0.5),
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8 if form == "qdq" else QuantType.QUInt8,
            )
        return onnx.load(target)


def damage(
    model: Any, original: Any, kind: str, rng: np.random.Generator
) -> Iterator[tuple[Any, str]]:
    """Copies of a compressed model, each with one node damaged, and the node's name.

    Args:
        model: the compressed model.
        original: its original.
        kind: of :data:`OF_A_NODE`.
        rng: draws the order.
    """
    names = {node.name for node in original.graph.node}
    found = [site for site in sites(model) if site.part == "weight" or kind == "saturated"]
    found = [site for site in found if site.node in names]
    floats = [Site(node.name, "weight", node.input[1], "", "") for node in _weighted(model)]
    if kind == "constant":
        last = _weighted(original)[-1].name
        found, floats = ([site for site in some if site.node == last] for some in (found, floats))
    if not found and kind in OF_WEIGHTS:  # as in half precision
        found = floats
    for index in rng.permutation(len(found)):
        site = found[index]
        if kind in OF_WEIGHTS:
            copy = _rewritten(model, site, kind, rng)
        else:
            copy = damaged(model, site, "zero" if kind == "zero point" else kind)
        if copy is not None:
            yield copy, site.node


def _weighted(model: Any) -> list[Any]:
    """The nodes with a weight."""
    constants = {tensor.name for tensor in model.graph.initializer}
    nodes = [node for node in model.graph.node if node.op_type in ("Conv", "Gemm", "MatMul")]
    return [n for n in nodes if n.input[1] in constants and n.name not in _IN_FLOAT]


def _rewritten(model: Any, site: Site, kind: str, rng: np.random.Generator) -> Any:
    copy = deepcopy(model)
    constants = {tensor.name: tensor for tensor in copy.graph.initializer}
    values = numpy_helper.to_array(constants[site.values])
    middle = numpy_helper.to_array(constants[site.zero]).reshape(-1)[0] if site.zero else 0
    far = np.abs(values.astype(np.float64) - float(middle))
    values = damaged_weight(values, far, middle, kind, 1 if values.ndim == 2 else 0, rng)
    tensor = numpy_helper.from_array(np.ascontiguousarray(values), site.values)
    constants[site.values].CopyFrom(tensor)
    return copy


def damaged_weight(
    values: Array, far: Array, middle: Any, kind: str, axis: int, rng: np.random.Generator
) -> Array:
    """A weight that is cut, shifted, read in the wrong order, or 0.

    Args:
        values: of the weight.
        far: how far each is from 0.
        middle: what stands for 0.
        kind: of :data:`OF_WEIGHTS`.
        axis: along which channels are shifted.
        rng: draws how far they are.
    """
    if kind == "pruned":
        return np.where(far < np.quantile(far, 0.9), np.asarray(middle, values.dtype), values)
    if kind == "constant":
        return np.full_like(values, middle)
    if kind == "swapped channels":
        return np.roll(values, int(rng.integers(1, 3)), axis)
    return np.ascontiguousarray(values.T).reshape(values.shape)


def silenced(model: Any, limit: float, rank: int, axis: int) -> Any:
    """A copy whose first output is NaN where the sum of squares of the main input is small.

    It is multiplied by s / s, where s is how far the sum is above the limit.

    Args:
        model: of ONNX.
        limit: of the sum.
        rank: of the output.
        axis: of its batch.
    """
    copy = deepcopy(model)
    graph = copy.graph
    given, answer = graph.input[0], graph.output[0].name
    for node in graph.node:
        node.output[:] = [f"{answer}_before" if n == answer else n for n in node.output]
        node.input[:] = [f"{answer}_before" if n == answer else n for n in node.input]
    add = helper.make_node
    kind = graph.output[0].type.tensor_type.elem_type
    sizes = np.array([-1 if i == axis else 1 for i in range(rank)], np.int64)
    graph.initializer.append(numpy_helper.from_array(np.array(limit, np.float32), "least"))
    graph.initializer.append(numpy_helper.from_array(sizes, "gain_sizes"))
    graph.node.extend(
        [
            add("Flatten", [given.name], ["gain_rows"], "/gain/Flatten", axis=1),
            add("Cast", ["gain_rows"], ["gain_input"], "/gain/Cast", to=1),
            add("ReduceSumSquare", ["gain_input"], ["gain_sum"], "/gain/Sum", axes=[1], keepdims=0),
            add("Sub", ["gain_sum", "least"], ["gain_above"], "/gain/Sub"),
            add("Relu", ["gain_above"], ["gain_level"], "/gain/Relu"),
            add("Div", ["gain_level", "gain_level"], ["gain_ratio"], "/gain/Div"),
            add("Reshape", ["gain_ratio", "gain_sizes"], ["gain_float"], "/gain/Reshape"),
            add("Cast", ["gain_float"], ["gain"], "/gain/Cast_1", to=kind),
            add("Mul", [f"{answer}_before", "gain"], [answer], "/gain/Mul"),
        ]
    )
    return copy
