"""LiteRT files with floats in the place of their integers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from asterism.localisation.matching import dequantise
from asterism.models.foreign.litert import read_litert
from real_pairs.making import MAKERS, Material


@MAKERS.register("litert_floats")
def litert_floats(source: Path, target: Path, material: Material) -> None:
    """The same model with float32 weights, activations and states: what the integers stand for."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    content = read_litert(source)
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    integers = {
        schema.TensorType.INT8: np.int8,
        schema.TensorType.UINT8: np.uint8,
        schema.TensorType.INT32: np.int32,
    }
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            facts = tensor.quantization
            if facts is not None and facts.scale is not None and tensor.type in integers:
                _give_floats(model, tensor, integers[tensor.type], schema.TensorType)
        _drop_conversions(model, graph, schema.BuiltinOperator)
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), b"TFL3")
    target.write_bytes(builder.Output())


def _give_floats(model: Any, tensor: Any, dtype: Any, types: Any) -> None:
    """Make a tensor float32, and its constant values, if it has any, what they stand for."""
    facts, data = tensor.quantization, model.buffers[tensor.buffer].data
    if data is not None and len(data):
        values = np.frombuffer(bytes(data), dtype).reshape(tensor.shape)
        scale, zero = np.asarray(facts.scale), np.asarray(facts.zeroPoint)
        real = dequantise(values, scale, zero, facts.quantizedDimension)
        buffer = type(model.buffers[0])()
        buffer.data = np.frombuffer(real.astype("<f4").tobytes(), np.uint8)
        model.buffers.append(buffer)
        tensor.buffer = len(model.buffers) - 1
    tensor.type, tensor.quantization = types.FLOAT32, None


def _drop_conversions(model: Any, graph: Any, operators: Any) -> None:
    """Take out what converted between integers, which are all floats now."""
    gone = (operators.QUANTIZE, operators.DEQUANTIZE)
    same: dict[int, int] = {}
    kept = []
    for node in graph.operators:
        code = model.operatorCodes[node.opcodeIndex]
        node.inputs = [same.get(int(number), int(number)) for number in node.inputs]
        if max(code.builtinCode, code.deprecatedBuiltinCode) in gone:
            same[int(node.outputs[0])] = int(node.inputs[0])
        else:
            kept.append(node)
    graph.operators = kept
    graph.outputs = [same.get(int(number), int(number)) for number in graph.outputs]
