"""The signature of a LiteRT (TensorFlow Lite) file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError, reading
from asterism.models.foreign.litert import enumeration_names, numbers_in, read_litert
from asterism.models.signatures.signature import Signature, TensorSpec, matching_states, range_of

#: Types of quantised numbers.
_INTEGERS = ("int4", "int8", "uint8", "int16")

#: Operators that give the same numbers in another form.
_FORMS = ("CAST", "DEQUANTIZE", "QUANTIZE", "RESHAPE", "SQUEEZE", "TRANSPOSE", "EXPAND_DIMS")

#: Other names for the same operators.
_MAKERS = {"LOGISTIC": "sigmoid"}


def tflite_signature(path: Path) -> Signature:
    """What a LiteRT file takes and gives, from its main graph.

    Raises:
        UserError: see :func:`~asterism.models.foreign.litert.read_litert`; or two inputs, or two
            outputs, have one name.
    """
    from ai_edge_litert import schema_py_generated as schema

    content = read_litert(path)
    with reading(str(path)):
        model = schema.Model.GetRootAs(content)
        graph = model.Subgraphs(0)
        dtypes = {
            number: name.lower() for number, name in enumeration_names(schema.TensorType).items()
        }
        operators = enumeration_names(schema.BuiltinOperator)
        inputs = tuple(
            _spec(graph.Tensors(graph.Inputs(i)), dtypes) for i in range(graph.InputsLength())
        )
        outputs = tuple(
            _spec(graph.Tensors(graph.Outputs(i)), dtypes) for i in range(graph.OutputsLength())
        )
        for specs in (inputs, outputs):
            if len({spec.name for spec in specs}) < len(specs):
                raise UserError(f"{path} has two inputs or two outputs of one name")
        codes = [
            operators.get(_code(model.OperatorCodes(i)), "CUSTOM")
            for i in range(model.OperatorCodesLength())
        ]
        used = [graph.Operators(i) for i in range(graph.OperatorsLength())]
        makers = {
            int(number): _MAKERS.get(name, name.lower())
            for op in used
            if (name := codes[op.OpcodeIndex()]) not in _FORMS
            for number in numbers_in(op.OutputsAsNumpy())
        }
        origins: dict[int, int] = {}  # of tensors that give another one's numbers in another form
        for op in used:
            if codes[op.OpcodeIndex()] in _FORMS and op.InputsLength() and op.OutputsLength():
                given = int(op.Inputs(0))
                origins[int(op.Outputs(0))] = origins.get(given, given)
        outputs = tuple(
            replace(spec, made_by=makers.get(origins.get(graph.Outputs(i), graph.Outputs(i)), ""))
            for i, spec in enumerate(outputs)
        )
        outputs = tuple(sorted(outputs, key=_place)) if _are_numbered(outputs) else outputs
        tensors = [dtypes.get(graph.Tensors(i).Type(), "") for i in range(graph.TensorsLength())]
        quantised = sum(
            any(tensors[n] in _INTEGERS for n in numbers_in(op.InputsAsNumpy()) if n >= 0)
            for op in used
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


def _are_numbered(outputs: Sequence[TensorSpec]) -> bool:
    """Whether names tell the order of the converted model, ``StatefulPartitionedCall_1:0``.

    The converter may list the outputs themselves in another order.
    """
    parts = [output.name.rpartition(":") for output in outputs]
    one = {(call, colon) for call, colon, _ in parts}
    return len(one) == 1 and {place for *_, place in parts} == set(map(str, range(len(parts))))


def _place(output: TensorSpec) -> int:
    return int(output.name.rpartition(":")[2])


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
    kept = range_of(float(scale), zero, dtype) if scale else None
    return TensorSpec(name, dtype, shape, float(scale), zero, calibrated=kept)


def _code(code: Any) -> int:
    """The number of an operator, which older files have in another field."""
    return max(int(code.BuiltinCode()), int(code.DeprecatedBuiltinCode()))
