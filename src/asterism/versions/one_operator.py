"""A model of one ONNX operator for every combination of what is tried of its attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.randomness.random_streams import stream

if TYPE_CHECKING:
    import onnx

#: Version of the operators, and of the file format. Old libraries read them too.
_OPSET, _IR = 18, 8

Options = Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Operator:
    """An operator with what is tried of it.

    Args:
        name: ONNX's name.
        inputs: shapes of its inputs, all float32.
        options: values of each attribute, all combinations of which are tried; None leaves an
            attribute out.
        constants: shapes of float32 weights, or arrays, that follow the inputs; None is left out.
        outputs: how many it has.
        opset: version of the operators, where it needs a newer one.
    """

    name: str
    inputs: tuple[tuple[int, ...], ...]
    options: Options = field(default_factory=dict)
    constants: tuple[tuple[int, ...] | NDArray[Any] | None, ...] = ()
    outputs: int = 1
    opset: int = _OPSET

    def models(self) -> Iterator[tuple[str, onnx.ModelProto]]:
        """A name and a model for every combination of options."""
        for values in product(*self.options.values()):
            chosen = {n: v for n, v in zip(self.options, values, strict=True) if v is not None}
            words = ["x".join(map(str, shape)) for shape in self.inputs if len(self.inputs) > 1]
            words += [f"{name}={_word(value)}" for name, value in chosen.items()]
            words += [_word(c.tolist()) for c in self.constants if isinstance(c, np.ndarray)]
            yield " ".join([self.name, *words]), self._model(chosen)

    def _model(self, attributes: Mapping[str, Any]) -> onnx.ModelProto:
        from onnx import TensorProto, helper, numpy_helper, shape_inference

        read = [f"x{i}" for i in range(len(self.inputs))]
        arrays: list[onnx.TensorProto] = []
        for at, constant in enumerate(self.constants):
            if constant is None:
                read.append("")
                continue
            if isinstance(constant, tuple):
                drawn = stream(0, "operator", self.name, at).normal(size=constant)
                constant = np.abs(drawn).astype(np.float32)  # a variance is not below 0
            arrays.append(numpy_helper.from_array(constant, f"c{at}"))
            read.append(f"c{at}")
        written = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.name, read, written, self.name.lower(), **attributes)
        graph = helper.make_graph(
            [node],
            self.name,
            [
                helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, shape)
                for i, shape in enumerate(self.inputs)
            ],
            [helper.make_empty_tensor_value_info(name) for name in written],
            arrays,
        )
        opset = helper.make_opsetid("", self.opset)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR)
        return shape_inference.infer_shapes(model)  # outputs have types


def ints(*values: int) -> NDArray[np.int64]:
    """A constant of whole numbers."""
    return np.array(values, np.int64)


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
