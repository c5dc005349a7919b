"""The signature of an ONNX file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from asterism.core.messages.errors import UserError, reading
from asterism.models.foreign.names import NameMap
from asterism.models.foreign.onnx_files import OnnxFile, read_renamed_onnx
from asterism.models.signatures.signature import Signature, TensorSpec, matching_states, range_of

if TYPE_CHECKING:
    import onnx

#: Parts of the names of operators that compute on integers, or convert from or to them.
_INTEGER = ("quantize", "qlinear", "integer", "qgemm", "qattention")

_RECURRENT = ("LSTM", "GRU", "RNN")
#: Operators that give the same numbers in another form.
_FORMS = (
    *("Cast", "DequantizeLinear", "Identity", "QuantizeLinear"),
    *("Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"),
)


def onnx_signature(path: Path) -> Signature:
    """What an ONNX file takes and gives.

    Raises:
        UserError: see :func:`~asterism.models.foreign.onnx_files.read_renamed_onnx`; or an input or
            output is no tensor.
    """
    return signature_of(read_renamed_onnx(path), path)


def signature_of(file: OnnxFile, path: Path) -> Signature:
    """What an opened ONNX file takes and gives, by the names in the file.

    Raises:
        UserError: an input or output is no tensor.
    """
    import onnx

    graph, half = file.model.graph, onnx.TensorProto.FLOAT16
    constants = {tensor.name for tensor in graph.initializer}
    makers = _makers(graph)

    def spec(value: onnx.ValueInfoProto) -> TensorSpec:
        return _spec(value, file.names, path)

    used = _InputUses(graph)
    inputs = tuple(
        replace(spec(value), rows=used.rows(value.name), calibrated=used.calibrated(value.name))
        for value in graph.input
        if value.name not in constants
    )
    with reading(str(path)):  # a scale may not fit its shape
        steps = {value.name: _output_step(graph, value.name) for value in graph.output}
    outputs = tuple(
        replace(spec(value), made_by=makers.get(value.name, ""), step=steps[value.name])
        for value in graph.output
    )
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
        recurrent=any(map(is_recurrent, graph.node)),
    )


def is_recurrent(node: onnx.NodeProto) -> bool:
    """Whether a node is a recurrent layer of ONNX itself."""
    return node.op_type in _RECURRENT and node.domain in ("", "ai.onnx")


class _InputUses:
    """What a graph does first with its inputs."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        self._dequantised = {
            node.output[0]: node.input[0]
            for node in graph.node
            if node.op_type == "DequantizeLinear" and node.output
        }
        self._nodes: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                self._nodes.setdefault(name, []).append(node)

    def rows(self, name: str) -> int:
        """The rows of the table whose rows an input chooses, 0 where it does not."""
        for node in self._first(name):
            table = self._table(node)
            if node.op_type == "Gather" and node.input[1] != node.input[0] and table:
                return int(table[0])
        return 0

    def _first(self, name: str) -> Iterator[onnx.NodeProto]:
        """The nodes that take an input, past those that only give its numbers another form."""
        for node in self._nodes.get(name, ()):
            if node.op_type in _FORMS and node.input[0] == name and node.output[0] != name:
                yield from self._nodes.get(node.output[0], ())
            yield node

    def _table(self, node: onnx.NodeProto) -> list[int]:
        """The shape of the constant that a node gathers from; nothing where it is none."""
        source = node.input[0]
        tensor = self._constants.get(self._dequantised.get(source, source))
        return [] if tensor is None else list(tensor.dims)

    def calibrated(self, name: str) -> tuple[float, float] | None:
        """The range of the quantiser that takes an input first."""
        import onnx

        for node in self._nodes.get(name, ()):
            if node.op_type != "QuantizeLinear" or len(node.input) < 2:
                continue
            parts = [self._constants.get(part) for part in node.input[1:3]]
            if parts[0] is None or list(parts[0].dims) not in ([], [1]):
                return None
            scale = float(onnx.numpy_helper.to_array(parts[0]).reshape(-1)[0])
            zero = 0 if parts[1] is None else onnx.numpy_helper.to_array(parts[1]).reshape(-1)[0]
            dtype = "uint8" if parts[1] is None else str(np.asarray(zero).dtype)
            return range_of(scale, int(zero), dtype)
        return None


def _makers(graph: onnx.GraphProto) -> dict[str, str]:
    """The operator that computes each value, past those that only give its numbers another form."""
    makers: dict[str, str] = {}
    for node in graph.node:  # in an order in which they can run
        form = node.op_type in _FORMS and node.input and node.input[0] in makers
        kind = makers[node.input[0]] if form else node.op_type.lower()
        makers.update(dict.fromkeys(node.output, kind))
    return makers


def _output_step(graph: onnx.GraphProto, output: str) -> float:
    """The scale of an output's node where that makes floats of integers; 0 where it does not."""
    from onnx import numpy_helper

    last = next((node for node in graph.node if output in node.output), None)
    if last is None or last.op_type != "DequantizeLinear":
        return 0.0
    scales = [c for c in graph.initializer if c.name == last.input[1]]
    return max((float(numpy_helper.to_array(scale).max()) for scale in scales), default=0.0)


def _constants(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Weights, wherever the file keeps them."""
    yield from graph.initializer
    for node in graph.node:
        if node.op_type == "Constant":
            yield from (attribute.t for attribute in node.attribute if attribute.name == "value")


def _spec(value: onnx.ValueInfoProto, names: NameMap, path: Path) -> TensorSpec:
    import onnx

    name = names.theirs(value.name)
    kind = value.type.tensor_type
    if not value.type.HasField("tensor_type"):
        raise UserError(
            f"{path}: {name} is a sequence or a map, where tensors are needed: export the file "
            "without it (of scikit-learn: options={'zipmap': False})"
        )
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name
    except KeyError:
        raise UserError(f"{path}: {name} has an unknown type of numbers") from None
    shape = tuple(
        axis.dim_value if axis.HasField("dim_value") and axis.dim_value > 0 else None
        for axis in kind.shape.dim
    )
    dims = tuple(names.theirs(axis.dim_param) if axis.dim_param else "" for axis in kind.shape.dim)
    return TensorSpec(name, dtype, shape, dims=dims)
