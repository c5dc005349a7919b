"""Models of one ONNX operator each: every combination of what is tried of its attributes.

Models of users and generators have layers; the operators below them have options that no layer
reaches. One small model for each shows which of them an upgrade changes. ``operators.yaml`` lists
what is tried, and ``docs/extending.md`` describes it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.random_streams import stream
from asterism.core.settings.yaml_files import parse_yaml
from asterism.differential.subjects.onnx_file import OnnxModelFile, make_subject

if TYPE_CHECKING:
    import onnx

#: Version of the operators, and of the file format. Old libraries read them too.
_OPSET, _IR = 18, 8

#: A constant input: the shape of drawn float32 weights, an array, or None for one left out.
Constant = tuple[int, ...] | NDArray[Any] | None


@dataclass(frozen=True)
class OnnxOperator:
    """An operator, and the inputs and options that are tried with it.

    Args:
        name: ONNX's name.
        inputs: shapes of its inputs, all float32.
        options: values of each attribute, all combinations of which are tried; None leaves an
            attribute out.
        constants: what follows the inputs.
        outputs: how many it has.
        opset: version of the operators, where it needs another one.
    """

    name: str
    inputs: tuple[tuple[int, ...], ...]
    options: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    constants: tuple[Constant, ...] = ()
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


def operator_subjects() -> Iterator[OnnxModelFile]:
    """Every operator in every combination of its options, each model once."""
    seen: dict[str, bytes] = {}
    for operator in read_operators():
        for short, model in operator.models():
            content, name = model.SerializeToString(), short
            if short in seen and seen[short] != content:
                shapes = " ".join("x".join(map(str, shape)) for shape in operator.inputs)
                constants = [getattr(c, "shape", c) for c in operator.constants]
                name = f"{short} of {shapes} {constants} opset {operator.opset}"
            if name not in seen:
                seen[name] = content
                yield make_subject(name, model, 1, {})


def read_operators() -> Iterator[OnnxOperator]:
    """All that is tried, in the order of the table."""
    text = (
        files("asterism.differential.subjects")
        .joinpath("operators.yaml")
        .read_text(encoding="utf-8")
    )
    for row in parse_yaml(text, "operators.yaml"):
        options = {name: tuple(values) for name, values in row.get("options", {}).items()}
        rest = row.get("outputs", 1), row.get("opset", _OPSET)
        sets = product(row["operators"].split(), row["inputs"], row.get("constants", [""]))
        for name, shapes, constants in sets:
            given = tuple(map(_shape, str(shapes).split(";")))
            following = tuple(_constant(c.strip()) for c in str(constants).split(";") if c.strip())
            yield OnnxOperator(name, given, options, following, *rest)


def _shape(text: str) -> tuple[int, ...]:
    return () if text.strip() == "scalar" else tuple(map(int, text.split()))


def _constant(text: str) -> Constant:
    """A constant: ``none``, the shape of weights, ``ramp`` with a shape, or a dtype and values."""
    kind, _, rest = text.partition(" ")
    if text == "none":
        return None
    if kind.isdecimal() or text == "scalar":
        return _shape(text)
    if kind == "ramp":
        shape = _shape(rest)
        return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    return np.array(ast.literal_eval(rest), kind)


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
