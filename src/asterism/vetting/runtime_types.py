"""The types in which ONNX Runtime computes a file's nodes here, by its optimised graph."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx

from asterism.localisation.graph import OnnxGraph
from asterism.models.formats.onnx import open_session

#: What ONNX Runtime writes before the name of a tensor that it has in 32 bits instead.
_FREE_CAST = "InsertedPrecisionFreeCast_"
#: Operators that only move or convert values: it makes no difference what these run in.
_MOVES = (
    *(
        "Cast",
        "Constant",
        "ConstantOfShape",
        "Identity",
        "Reshape",
        "Transpose",
        "Flatten",
        "Shape",
    ),
    *("Squeeze", "Unsqueeze", "Concat", "Split", "Slice", "Expand", "Tile", "Pad", "Where"),
    *("Gather", "GatherElements", "GatherND"),
)
#: Operators that ONNX Runtime puts in to change a type or a layout.
_CONVERSIONS = ("Cast", "ReorderOutput", "ReorderInput")
#: How operators compute that round by themselves, or with a precision that their attributes say.
_ARITHMETIC = {
    "DynamicQuantizeLSTM": "inputs and states are rounded to 8 bits by their own range",
    "DynamicQuantizeLinear": "values are rounded to 8 bits, by the range of the whole batch",
    "DynamicQuantizeMatMul": "inputs are rounded to 8 bits, by the range of the whole batch",
    "MatMulIntegerToFloat": "8-bit integers are multiplied",
    "MatMulInteger": "8-bit integers are multiplied",
    "ConvInteger": "8-bit integers are multiplied",
    "QLinearConv": "8-bit integers are multiplied",
    "QLinearMatMul": "8-bit integers are multiplied",
    "QGemm": "8-bit integers are multiplied",
}
#: By MatMulNBits' attribute accuracy_level.
_LEVELS = {
    0: "weights of few bits are multiplied in 32-bit numbers",
    1: "weights of few bits are multiplied in 32-bit numbers",
    2: "weights of few bits are multiplied in 16-bit numbers",
    3: "weights of few bits are multiplied in bfloat16 numbers",
    4: "inputs are rounded to 8 bits, a block at a time",
}


@dataclass(frozen=True)
class RetypedNode:
    """A node that ONNX Runtime computes in another type than the file says.

    Attributes:
        node: its name in the file.
        operator: its type there.
        type_in_file: of what it gives.
        type_run: of what it gave here.
    """

    node: str
    operator: str
    type_in_file: str
    type_run: str


@dataclass(frozen=True)
class RoundingOperator:
    """An operator that rounds by itself, as it ran here.

    Attributes:
        operator: its type.
        nodes: their names in the optimised graph.
        made_here: ONNX Runtime made it of other nodes; the file does not have it.
        how: it computes, in words.
    """

    operator: str
    nodes: tuple[str, ...]
    made_here: bool
    how: str


def read_optimised_graph(path: Path) -> OnnxGraph:
    """The graph that ONNX Runtime runs for a file.

    Raises:
        UserError: it cannot open the file.
    """
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "optimised.onnx"
        open_session(path, str(path), optimised_file=target)
        return OnnxGraph(onnx.load(target))


def find_retyped_nodes(path: Path, types: Mapping[str, str]) -> list[RetypedNode]:
    """The nodes of a file that ran in another type here, in the file's order.

    Args:
        path: an ONNX file.
        types: of the file's tensors that may be another here, such as ``float16``, by name.

    Raises:
        UserError: ONNX Runtime cannot open the file.
    """
    file, run = OnnxGraph(onnx.load(path)), read_optimised_graph(path)
    found = []
    for index, node in enumerate(file.nodes):
        tensor = next((name for name in node.output if name in types), None)
        if tensor is None or node.op_type in _MOVES:
            continue
        here = _type_run(tensor, types[tensor], file, run)
        if here is not None and here != types[tensor]:
            name = file.name_of(index)
            found.append(RetypedNode(name, node.op_type, types[tensor], here))
    return found


def _type_run(tensor: str, kind: str, file: OnnxGraph, run: OnnxGraph) -> str | None:
    """The type in which a tensor was made here; None where nothing tells it.

    Where its node was merged into a later one, that one tells it.
    """
    waiting, seen = [tensor], set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        for known in (f"{_FREE_CAST}{name}", name):
            node = run.maker_of(known)
            if node is not None and node.op_type not in _CONVERSIONS:
                return "float32" if known != name else kind
        cast = run.maker_of(name)
        if cast is not None and run.maker_of(cast.input[0]) is not None:
            return "float32"
        for taker in file.takers.get(name, ()):
            waiting += file.nodes[taker].output
    return None


def find_rounding_operators(path: Path) -> list[RoundingOperator]:
    """The operators that round by themselves, as ONNX Runtime runs a file here.

    Raises:
        UserError: ONNX Runtime cannot open the file.
    """
    in_file = {node.op_type for node in onnx.load(path).graph.node}
    found: dict[tuple[str, str], list[str]] = {}
    for operator, how, name in _rounding(read_optimised_graph(path)):
        found.setdefault((operator, how), []).append(name)
    return [
        RoundingOperator(operator, tuple(names), operator not in in_file, how)
        for (operator, how), names in found.items()
    ]


def _rounding(run: OnnxGraph) -> Iterator[tuple[str, str, str]]:
    for index, node in enumerate(run.nodes):
        if node.op_type == "MatMulNBits":
            levels = [a.i for a in node.attribute if a.name == "accuracy_level"]
            yield node.op_type, _LEVELS[levels[0] if levels else 0], run.name_of(index)
        elif node.op_type in _ARITHMETIC:
            yield node.op_type, _ARITHMETIC[node.op_type], run.name_of(index)
