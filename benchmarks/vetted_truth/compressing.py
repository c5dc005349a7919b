"""Compressed ONNX files by ONNX Runtime's own tools, and damage to one node of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from damages import damaged, sites
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from asterism.compression.onnx_quantiser import calibration_reader, without_advice
from vetted_truth.answers import one_by_one
from vetted_truth.networks import Array

#: Compressed files of ONNX.
FORMATS = ("qdq", "qoperator", "dynamic", "half")
#: What may be wrong with the constants of one node.
OF_A_NODE = (
    "scale",
    "zero point",
    "saturated",
    "pruned",
    "swapped channels",
    "wrong axis",
    "constant",
)
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
    with tempfile.TemporaryDirectory() as folder, without_advice():
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
                calibration_reader(one_by_one(feed)[:100]),
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
    found = [site for site in sites(model) if site.part == "weight" or kind == "saturated"]
    names = {node.name for node in original.graph.node}
    found = [site for site in found if site.node in names]
    if kind == "constant":
        last = _last(original)
        found = [site for site in found if site.node == last and site.part == "weight"]
    for index in rng.permutation(len(found)):
        site = found[index]
        if kind in ("scale", "saturated", "zero point"):
            copy = damaged(model, site, "zero" if kind == "zero point" else kind)
        else:
            copy = _rewritten(model, site.values, site.zero, kind, rng)
        if copy is not None:
            yield copy, site.node
    if not found and kind in ("pruned", "swapped channels", "wrong axis", "constant"):
        yield from _of_floats(model, original, kind, rng)


def _weighted(model: Any) -> list[Any]:
    """The nodes with a weight."""
    constants = {tensor.name for tensor in model.graph.initializer}
    nodes = [node for node in model.graph.node if node.op_type in ("Conv", "Gemm", "MatMul")]
    return [n for n in nodes if n.input[1] in constants and n.name not in _IN_FLOAT]


def _last(original: Any) -> str:
    return str(_weighted(original)[-1].name)


def _of_floats(
    model: Any, original: Any, kind: str, rng: np.random.Generator
) -> Iterator[tuple[Any, str]]:
    """Damage to weights that are real numbers, as in half precision."""
    nodes = _weighted(model)
    if kind == "constant":
        nodes = [node for node in nodes if node.name == _last(original)]
    for index in rng.permutation(len(nodes)):
        yield _rewritten(model, nodes[index].input[1], "", kind, rng), nodes[index].name


def _rewritten(model: Any, weight: str, zero: str, kind: str, rng: np.random.Generator) -> Any:
    """A copy whose weight is cut, shifted, read in the wrong order, or 0."""
    copy = deepcopy(model)
    constants = {tensor.name: tensor for tensor in copy.graph.initializer}
    values = numpy_helper.to_array(constants[weight])
    middle = numpy_helper.to_array(constants[zero]).reshape(-1)[0] if zero else 0
    far = np.abs(values.astype(np.float64) - float(middle))
    if kind == "pruned":
        values = np.where(far < np.quantile(far, 0.9), np.asarray(middle, values.dtype), values)
    elif kind == "constant":
        values = np.full_like(values, middle)
    elif kind == "swapped channels":
        axis = 1 if values.ndim == 2 else 0
        values = np.roll(values, int(rng.integers(1, 3)), axis)
    elif values.ndim > 1:
        values = np.ascontiguousarray(values.T).reshape(values.shape)
    constants[weight].CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values), weight))
    return copy


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
