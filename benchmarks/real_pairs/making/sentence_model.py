"""A sentence model of integer weights: as QDQ, with its float weights, and with a pooled output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.files.limits import parse_json, read_within
from asterism.core.messages.errors import UserError, reading
from asterism.core.parameters.params import ParameterSection
from asterism.models.foreign.onnx_files import read_onnx
from real_pairs.entry import PackagedFile
from real_pairs.making import MAKERS, Maker, Material

#: Largest mean difference, by the mean of the weights, at which weights count as the same rounded.
_ROUNDED = 0.05


@dataclass(frozen=True)
class _Weight:
    """Weights that a graph computes as ``Cast(integers) * scale``."""

    cast: Any
    product: Any
    integers: NDArray[Any]
    scale: NDArray[Any]

    @property
    def values(self) -> NDArray[np.float32]:
        """The real numbers."""
        return np.asarray(self.integers.astype(np.float32) * self.scale, np.float32)


@MAKERS.register("integer_weights_as_qdq")
class IntegerWeightsAsQdq(Maker):
    """The same model with ``DequantizeLinear`` in the place of ``Cast`` and ``Mul``."""

    @staticmethod
    def make(source: Path, target: Path, options: Any, material: Material) -> None:
        """See :meth:`.Maker.make`."""
        import onnx

        model = read_onnx(source)
        with reading(str(source)):
            for weight in _weights(model.graph, source):
                axis = int(np.argmax(weight.scale.shape)) if weight.scale.size > 1 else None
                name = weight.product.input[1]
                _replace(model.graph, onnx.numpy_helper.from_array(weight.scale.reshape(-1), name))
                weight.product.op_type = "DequantizeLinear"
                del weight.product.input[:]
                weight.product.input.extend([weight.cast.input[0], name])
                if axis is not None:
                    weight.product.attribute.append(onnx.helper.make_attribute("axis", axis))
                model.graph.node.remove(weight.cast)
            onnx.save(model, target)


@MAKERS.register("float_weights")
class FloatWeights(Maker):
    """The same model with the float weights that its integer weights were rounded from.

    They are told by their values: those of a matrix, or of its transpose, that differ least.
    """

    class Options(ParameterSection):
        """Where the float weights are."""

        weights: PackagedFile = Field(description="a file of safetensors")

    @staticmethod
    def make(source: Path, target: Path, options: Options, material: Material) -> None:
        """See :meth:`.Maker.make`."""
        import onnx

        model, floats = read_onnx(source), read_safetensors(material.find(options.weights))
        with reading(str(source)):
            for weight in _weights(model.graph, source):
                found = _closest(weight.values, floats)
                if found is None:
                    raise UserError(f"{source} has weights that {options.weights.path} lacks")
                name = weight.product.output[0]
                model.graph.initializer.append(onnx.numpy_helper.from_array(found, name))
                for value in (weight.cast.input[0], weight.product.input[1]):
                    model.graph.initializer.remove(_initializer(model.graph, value))
                model.graph.node.remove(weight.cast)
                model.graph.node.remove(weight.product)
            onnx.save(model, target)


@MAKERS.register("mean_pooled")
class MeanPooled(Maker):
    """The same model with the mean of the tokens' vectors as its output, without padding."""

    class Options(ParameterSection):
        """Names in the graph."""

        mask: str = Field(description="the input that marks the tokens that are there")
        hidden: str = Field(description="the output with a vector for each token")

    @staticmethod
    def make(source: Path, target: Path, options: Options, material: Material) -> None:
        """See :meth:`.Maker.make`."""
        import onnx
        from onnx import TensorProto, helper

        model = read_onnx(source)
        with reading(str(source)):
            graph = model.graph
            hidden = next(value for value in graph.output if value.name == options.hidden)
            width = hidden.type.tensor_type.shape.dim[2].dim_value
            axes = {"pool_last": [2], "pool_tokens": [1]}
            for name, axis in axes.items():
                graph.initializer.append(onnx.numpy_helper.from_array(np.array(axis), name))
            nodes = [
                ("Cast", [options.mask], "pool_mask", {"to": TensorProto.FLOAT}),
                ("Unsqueeze", ["pool_mask", "pool_last"], "pool_weight", {}),
                ("Mul", [options.hidden, "pool_weight"], "pool_there", {}),
                ("ReduceSum", ["pool_there", "pool_tokens"], "pool_sum", {"keepdims": 0}),
                ("ReduceSum", ["pool_weight", "pool_tokens"], "pool_count", {"keepdims": 0}),
                ("Div", ["pool_sum", "pool_count"], "sentence_embedding", {}),
            ]
            for kind, inputs, output, attributes in nodes:
                graph.node.append(helper.make_node(kind, inputs, [output], output, **attributes))
            graph.output.remove(hidden)
            shape = ["N", width]
            graph.output.append(
                helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, shape)
            )
            onnx.save(model, target)


def read_safetensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """The float32 tensors of a file of safetensors, by name.

    The format: eight bytes with the length of a JSON header, the header, the numbers.

    Raises:
        UserError: the file is damaged or too large.
    """
    with reading(str(path)):
        content = read_within(path, "limits.model_mb")
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
    from onnx import numpy_helper

    values = {tensor.name: tensor for tensor in graph.initializer}
    casts = {node.output[0]: node for node in graph.node if node.op_type == "Cast"}
    for node in graph.node:
        cast = casts.get(node.input[0]) if node.op_type == "Mul" else None
        if cast is not None and cast.input[0] in values and node.input[1] in values:
            integers = numpy_helper.to_array(values[cast.input[0]])
            if integers.dtype == np.int8:
                yield _Weight(cast, node, integers, numpy_helper.to_array(values[node.input[1]]))


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


def _initializer(graph: Any, name: str) -> Any:
    return next(tensor for tensor in graph.initializer if tensor.name == name)


def _replace(graph: Any, tensor: Any) -> None:
    _initializer(graph, tensor.name).CopyFrom(tensor)
