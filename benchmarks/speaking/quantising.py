"""Recognisers with 8 bits: weights and activations, or weights alone; and their float versions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from asterism.compression.onnx_quantiser import calibration_reader

Feed = Mapping[str, NDArray[Any]]

_QUANTISED = ("Conv", "MatMul")
#: Weights that are fewer stay float, as in TensorFlow Lite's dynamic range.
_FEWEST = 1024


def static_int8(source: Path, target: Path, feeds: Iterable[Feed], kept: set[str]) -> None:
    """Weights and activations of convolutions and products in 8 bits (QDQ), per channel.

    Args:
        source: a float model.
        target: the file to write.
        feeds: inputs of runs in which ranges are seen.
        kept: constants of nodes that stay float, such as those of the spectrum.
    """
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.onnx"
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        nodes = onnx.load(prepared).graph.node
        quantize_static(
            str(prepared),
            str(target),
            calibration_reader(feeds),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=list(_QUANTISED),
            nodes_to_exclude=[node.name for node in nodes if kept & set(node.input)],
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )


def weights_int8(source: Path, target: Path, kept: set[str]) -> int:
    """Weights of convolutions and products in 8 bits, symmetric, per output channel.

    Activations stay float. That is what TensorFlow Lite's dynamic range does to weights.

    Args:
        source: a float model.
        target: the file to write.
        kept: constants that stay float.

    Returns:
        How many weights were quantised.
    """
    model = onnx.load(source)
    graph = model.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    restoring: dict[str, Any] = {}
    for node in graph.node:
        name = node.input[1] if node.op_type in _QUANTISED else ""
        if name not in constants or name in kept or name in restoring:
            continue
        weights = numpy_helper.to_array(constants[name])
        if weights.size < _FEWEST:
            continue
        axis = 0 if node.op_type == "Conv" else weights.ndim - 1
        others = tuple(place for place in range(weights.ndim) if place != axis)
        scales = np.maximum(np.abs(weights).max(axis=others) / 127, 1e-12).astype(np.float32)
        shape = [-1 if place == axis else 1 for place in range(weights.ndim)]
        levels = np.clip(np.rint(weights / scales.reshape(shape)), -127, 127).astype(np.int8)
        parts = {"levels": levels, "scales": scales, "zeros": np.zeros(len(scales), np.int8)}
        graph.initializer.remove(constants[name])
        for part, values in parts.items():
            graph.initializer.append(numpy_helper.from_array(values, f"{name}_{part}"))
        restoring[name] = helper.make_node(
            "DequantizeLinear",
            [f"{name}_{part}" for part in parts],
            [name],
            name=f"{name}_float",
            axis=axis,
        )
    nodes = [*restoring.values(), *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.checker.check_model(model)
    onnx.save(model, target)
    return len(restoring)


def full_precision(source: Path, target: Path) -> None:
    """A model of half precision, with float32 in every place of float16."""
    model = onnx.load(source)
    for tensor in _tensors(model.graph):
        if tensor.data_type == TensorProto.FLOAT16:
            values = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    for node in model.graph.node:
        for attribute in node.attribute:
            if (node.op_type, attribute.name) == ("Cast", "to"):
                is_half = attribute.i == TensorProto.FLOAT16
                attribute.i = TensorProto.FLOAT if is_half else attribute.i
    del model.graph.value_info[:]
    onnx.checker.check_model(model)
    onnx.save(model, target)


def _tensors(graph: Any) -> list[Any]:
    """Weights and other constants."""
    inside = [a.t for node in graph.node for a in node.attribute if a.HasField("t")]
    return [*graph.initializer, *inside]
