"""A sentence model of integer weights: as QDQ, with its float weights, and with a pooled output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from asterism.core.files.limits import parse_json, read_within_limit
from asterism.core.messages.errors import UserError, reading
from asterism.models.foreign.onnx_files import read_onnx
from real_pairs.entry import PackagedFile
from real_pairs.making import MAKERS, Material

#: Largest mean difference, by the mean of the weights, at which weights count as the same rounded.
_ROUNDED = 0.05


@dataclass(frozen=True)
class _Weight:
    """Weights that a graph computes as ``Cast(integers) * scale``: its nodes and constants."""

    cast: Any
    product: Any
    integers: Any
    scale: Any


@MAKERS.register("integer_weights_as_qdq")
def integer_weights_as_qdq(source: Path, target: Path, material: Material) -> None:
    """The same model with ``DequantizeLinear`` in the place of ``Cast`` and ``Mul``."""
    model = read_onnx(source)
    for weight in _weights(model.graph, source):
        scale, product = numpy_helper.to_array(weight.scale), weight.product
        if scale.size > 1:
            axis = int(np.argmax(scale.shape))
            product.attribute.append(helper.make_attribute("axis", axis))
        weight.scale.CopyFrom(numpy_helper.from_array(scale.reshape(-1), weight.scale.name))
        product.op_type, product.input[0] = "DequantizeLinear", weight.integers.name
        model.graph.node.remove(weight.cast)
    onnx.save(model, target)


@MAKERS.register("float_weights")
def float_weights(source: Path, target: Path, material: Material, *, weights: PackagedFile) -> None:
    """The same model with the float weights that its integer weights were rounded from.

    They are told by their values: those of a matrix, or of its transpose, that differ least.

    Args:
        weights: a file of safetensors.
    """
    model, floats = read_onnx(source), read_safetensors(material.find(weights))
    for weight in _weights(model.graph, source):
        integers, scale = map(numpy_helper.to_array, (weight.integers, weight.scale))
        found = _closest(np.asarray(integers.astype(np.float32) * scale, np.float32), floats)
        if found is None:
            raise UserError(f"{source} has weights that {weights.path} lacks")
        name = weight.product.output[0]
        model.graph.initializer.append(numpy_helper.from_array(found, name))
        for constant in (weight.integers, weight.scale):
            model.graph.initializer.remove(constant)
        for node in (weight.cast, weight.product):
            model.graph.node.remove(node)
    onnx.save(model, target)


@MAKERS.register("mean_pooled")
def mean_pooled(source: Path, target: Path, material: Material, *, mask: str, hidden: str) -> None:
    """The same model with the mean of the tokens' vectors as its output, without padding.

    Args:
        mask: the input that marks the tokens that are there.
        hidden: the output with a vector for each token.
    """
    model = read_onnx(source)
    vectors = next(value for value in model.graph.output if value.name == hidden)
    width = vectors.type.tensor_type.shape.dim[2].dim_value
    for name, axis in {"pool_last": [2], "pool_tokens": [1]}.items():
        model.graph.initializer.append(numpy_helper.from_array(np.array(axis), name))
    nodes: list[tuple[str, list[str], str, dict[str, int]]] = [
        ("Cast", [mask], "pool_mask", {"to": onnx.TensorProto.FLOAT}),
        ("Unsqueeze", ["pool_mask", "pool_last"], "pool_weight", {}),
        ("Mul", [hidden, "pool_weight"], "pool_there", {}),
        ("ReduceSum", ["pool_there", "pool_tokens"], "pool_sum", {"keepdims": 0}),
        ("ReduceSum", ["pool_weight", "pool_tokens"], "pool_count", {"keepdims": 0}),
        ("Div", ["pool_sum", "pool_count"], "sentence_embedding", {}),
    ]
    for kind, inputs, output, attributes in nodes:
        model.graph.node.append(helper.make_node(kind, inputs, [output], output, **attributes))
    model.graph.output.remove(vectors)
    pooled = ("sentence_embedding", onnx.TensorProto.FLOAT, ["N", width])
    model.graph.output.append(helper.make_tensor_value_info(*pooled))
    onnx.save(model, target)


def read_safetensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """The float32 tensors of a file of safetensors, by name.

    The format: eight bytes with the length of a JSON header, the header, the numbers.

    Raises:
        UserError: the file is damaged or too large.
    """
    with reading(str(path)):
        content = read_within_limit(path, "limits.model_mb")
        start = 8 + int.from_bytes(content[:8], "little")
        header = parse_json(content[8:start], str(path))
        found = {}
        for name, facts in header.items():
            if facts.get("dtype") == "F32":
                begin, end = facts["data_offsets"]
                values = np.frombuffer(content[start + begin : start + end], "<f4")
                found[name] = values.reshape(facts["shape"])
    return found


def _weights(graph: Any, source: Path) -> list[_Weight]:
    found = list(_integer_weights(graph))
    if not found:
        raise UserError(f"{source} has no weights that are integers times a scale")
    return found


def _integer_weights(graph: Any) -> Iterator[_Weight]:
    values = {tensor.name: tensor for tensor in graph.initializer}
    casts = {node.output[0]: node for node in graph.node if node.op_type == "Cast"}
    for node in graph.node:
        cast = casts.get(node.input[0]) if node.op_type == "Mul" else None
        if cast is not None and cast.input[0] in values and node.input[1] in values:
            integers = values[cast.input[0]]
            if integers.data_type == onnx.TensorProto.INT8:
                yield _Weight(cast, node, integers, values[node.input[1]])


def _closest(
    values: NDArray[np.float32], floats: dict[str, NDArray[np.float32]]
) -> NDArray[np.float32] | None:
    best, least = None, _ROUNDED * float(np.abs(values).mean())
    for tensor in floats.values():
        for turned in (tensor, tensor.T) if tensor.ndim == 2 else ():
            if turned.shape == values.shape:
                difference = float(np.abs(turned - values).mean())
                if difference < least:
                    best, least = np.ascontiguousarray(turned), difference
    return best
