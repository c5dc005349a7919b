"""The signature of an ONNX file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from asterism.core.messages.errors import UserError
from asterism.models.classifiers.onnx_files import read_onnx
from asterism.models.signatures.signature import Signature, TensorSpec, matching_states

if TYPE_CHECKING:
    import onnx

#: Parts of the names of operators that compute on integers, or convert from or to them.
_INTEGER = ("quantize", "qlinear", "integer", "qgemm", "qattention")

#: Operators that give the same numbers in another form.
_FORMS = ("Cast", "DequantizeLinear", "Identity", "QuantizeLinear", "Reshape", "Squeeze")


def onnx_signature(path: Path) -> Signature:
    """What an ONNX file takes and gives.

    Raises:
        UserError: see :func:`~asterism.models.classifiers.onnx_files.read_onnx`; or an input or
            output is no tensor.
    """
    import onnx

    graph = read_onnx(path).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = tuple(_spec(value, path) for value in graph.input if value.name not in constants)
    outputs = tuple(
        replace(_spec(value, path), made_by=_maker(value.name, graph)) for value in graph.output
    )
    half = onnx.TensorProto.FLOAT16
    return Signature(
        format="onnx",
        inputs=inputs,
        outputs=outputs,
        states=matching_states(inputs, outputs),
        operators=len(graph.node),
        quantised=sum(
            any(word in node.op_type.lower() for word in _INTEGER) for node in graph.node
        ),
        half=any(tensor.data_type == half for tensor in _constants(graph)),
    )


def _maker(name: str, graph: onnx.GraphProto) -> str:
    """The operator that computes an output, past those that only give its numbers another form."""
    makers = {output: node for node in graph.node for output in node.output}
    for _ in range(len(graph.node)):
        if name not in makers or makers[name].op_type not in _FORMS or not makers[name].input:
            break
        name = makers[name].input[0]
    return makers[name].op_type.lower() if name in makers else ""


def _constants(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Weights, wherever the file keeps them."""
    yield from graph.initializer
    for node in graph.node:
        if node.op_type == "Constant":
            yield from (attribute.t for attribute in node.attribute if attribute.name == "value")


def _spec(value: onnx.ValueInfoProto, path: Path) -> TensorSpec:
    import onnx

    kind = value.type.tensor_type
    if not value.type.HasField("tensor_type"):
        raise UserError(f"{path}: {value.name} is no tensor: sequences and maps cannot be given")
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name
    except KeyError:
        raise UserError(f"{path}: {value.name} has an unknown type of numbers") from None
    shape = tuple(
        axis.dim_value if axis.HasField("dim_value") and axis.dim_value > 0 else None
        for axis in kind.shape.dim
    )
    return TensorSpec(value.name, dtype, shape)
