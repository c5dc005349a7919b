"""The signature of a LiteRT (TensorFlow Lite) file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import require_file
from asterism.core.files.limits import read_within
from asterism.core.messages.errors import UserError, reading
from asterism.models.signatures.signature import Signature, TensorSpec, matching_states

#: Types of quantised numbers.
_INTEGERS = ("int4", "int8", "uint8", "int16")

#: Operators that give the same numbers in another form.
_FORMS = ("CAST", "DEQUANTIZE", "QUANTIZE", "RESHAPE", "SQUEEZE")

#: Other names for the same operators.
_MAKERS = {"LOGISTIC": "sigmoid"}


def tflite_signature(path: Path) -> Signature:
    """What a LiteRT file takes and gives, from its main graph.

    Raises:
        UserError: missing, damaged, or larger than ``limits.model_mb``.
    """
    from ai_edge_litert import schema_py_generated as schema

    require_file(path, "model file")
    content = read_within(path, "limits.model_mb")
    if content[4:8] != b"TFL3":
        raise UserError(f"{path} is no LiteRT file, or is damaged")
    with reading(str(path)):
        model = schema.Model.GetRootAs(content)
        graph = model.Subgraphs(0)
        dtypes = {number: name.lower() for number, name in _names_of(schema.TensorType).items()}
        operators = _names_of(schema.BuiltinOperator)
        inputs = tuple(
            _spec(graph.Tensors(graph.Inputs(i)), dtypes) for i in range(graph.InputsLength())
        )
        outputs = tuple(
            _spec(graph.Tensors(graph.Outputs(i)), dtypes) for i in range(graph.OutputsLength())
        )
        codes = [
            operators.get(_code(model.OperatorCodes(i)), "CUSTOM")
            for i in range(model.OperatorCodesLength())
        ]
        used = [graph.Operators(i) for i in range(graph.OperatorsLength())]
        makers = {
            int(number): _MAKERS.get(name, name.lower())
            for op in used
            if (name := codes[op.OpcodeIndex()]) not in _FORMS
            for number in op.OutputsAsNumpy()
        }
        forms = {
            int(op.Outputs(0)): int(op.Inputs(0))
            for op in used
            if codes[op.OpcodeIndex()] in _FORMS
        }
        outputs = tuple(
            replace(spec, made_by=makers.get(_origin(graph.Outputs(i), forms), ""))
            for i, spec in enumerate(outputs)
        )
        tensors = [dtypes.get(graph.Tensors(i).Type(), "") for i in range(graph.TensorsLength())]
        quantised = sum(
            any(tensors[n] in _INTEGERS for n in op.InputsAsNumpy() if n >= 0) for op in used
        )
        variables = any("VAR_HANDLE" in codes[op.OpcodeIndex()] for op in used)
    return Signature(
        format="tflite",
        inputs=inputs,
        outputs=outputs,
        states=matching_states(inputs, outputs),
        operators=len(used),
        quantised=quantised,
        half="float16" in tensors,
        variables=variables or any(graph.Tensors(i).IsVariable() for i in range(len(tensors))),
    )


def _origin(number: int, forms: Mapping[int, int]) -> int:
    """The tensor whose numbers another one gives in another form."""
    for _ in forms:
        number = forms.get(number, number)
    return number


def _spec(tensor: Any, dtypes: dict[int, str]) -> TensorSpec:
    sizes = [int(tensor.ShapeSignature(i)) for i in range(tensor.ShapeSignatureLength())]
    sizes = sizes or [int(tensor.Shape(i)) for i in range(tensor.ShapeLength())]
    name = (tensor.Name() or b"").decode("utf-8", "replace")
    facts = tensor.Quantization()
    scale = zero = 0
    if facts is not None and facts.ScaleLength() == 1:
        scale, zero = facts.Scale(0), int(facts.ZeroPoint(0)) if facts.ZeroPointLength() else 0
    dtype = dtypes.get(tensor.Type(), f"type {tensor.Type()}")
    shape = tuple(size if size > 0 else None for size in sizes)
    return TensorSpec(name, dtype, shape, float(scale), zero)


def _names_of(enumeration: type) -> dict[int, str]:
    """Names of an enumeration's numbers."""
    return {number: name for name, number in vars(enumeration).items() if isinstance(number, int)}


def _code(code: Any) -> int:
    """The number of an operator, which older files have in another field."""
    return max(int(code.BuiltinCode()), int(code.DeprecatedBuiltinCode()))
