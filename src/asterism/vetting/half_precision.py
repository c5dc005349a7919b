"""Whether the original's own values fit the range of the 16-bit numbers of its compressed file.

On a processor ONNX Runtime computes many nodes of such a file in 32 bits, so that its answers do
not show what a device does that computes in 16. So the original's tensors are looked at instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper

from asterism.core.messages.errors import UserError, reading
from asterism.localisation.graph import OnnxGraph, rename_tensors
from asterism.localisation.qoperators import without_constant_nodes
from asterism.localisation.running import FilledRun, Run, Session, first_call
from asterism.models.foreign.onnx_files import read_onnx
from asterism.models.onnx_graphs import in_float32, sort_nodes, subgraphs, with_outputs
from asterism.vetting.runtime_types import RetypedNode, find_retyped_nodes

Array = NDArray[Any]
Rows = NDArray[np.bool_]
_NAMES = TensorProto.DataType.Name


@dataclass(frozen=True)
class _Half:
    """A type of 16 bits: its largest number, and from where numbers become infinite or 0."""

    largest: float
    infinite: float
    zero: float


_HALVES = {
    "float16": _Half(65504.0, 65520.0, 2.0**-25),
    "bfloat16": _Half((2 - 2.0**-7) * 2.0**127, (2 - 2.0**-8) * 2.0**127, 2.0**-134),
}
#: Types whose values may be beyond these.
_WIDER = ("float", "double")


@dataclass(frozen=True)
class OverflowingTensor:
    """A tensor of the original with a value that the compressed file's type does not hold.

    Attributes:
        tensor: its name in the original.
        node: name of the original's node that makes it.
        operator: that node's type.
        type: the type that the compressed file has it in: ``float16`` or ``bfloat16``.
        limit: the largest number of that type.
        largest: the largest finite magnitude, on the given inputs.
        inputs: on how many of them it is beyond the limit.
    """

    tensor: str
    node: str
    operator: str
    type: str
    limit: float
    largest: float
    inputs: int


@dataclass(frozen=True)
class LostConstant:
    """A constant of the original that is infinite or 0 in the compressed file.

    Attributes:
        tensor: its name.
        value: one of the original's values.
        becomes: ``inf``, ``-inf`` or ``0``.
        count: how many values do.
    """

    tensor: str
    value: float
    becomes: str
    count: int


@dataclass(frozen=True)
class HalfPrecisionFindings:
    """Types of 16 bits in a file, compared with the original and with what ran here.

    Attributes:
        types: the types of 16 bits that the file has tensors of.
        inputs: how many the original was run on.
        inputs_beyond: on how many of these a tensor is beyond the range.
        unanswered: on how many a device that rounds after each node gives no finite answer; None
            where that is not known.
        beyond: the tensors, in the order in which they are computed.
        constants: the constants that are lost.
        ran_otherwise: nodes that ONNX Runtime does not compute here as the file says.
    """

    types: tuple[str, ...]
    inputs: int
    inputs_beyond: int
    unanswered: int | None
    beyond: tuple[OverflowingTensor, ...]
    constants: tuple[LostConstant, ...]
    ran_otherwise: tuple[RetypedNode, ...]


def compare_half_precision(
    original: Path, compressed: Path, runs: Sequence[Run]
) -> HalfPrecisionFindings | None:
    """Compare the original's tensors with the ranges of the compressed file's types.

    A tensor counts where the compressed file's own value, rounded after each node, is not finite
    either: a mask of -3.4e38 that the file has as -10,000 does no harm. Where the file cannot be
    rounded so, the original's value decides. Memory holds the tensors of one call. Tensors are
    matched by their names, else by the name of the node that makes them.

    Args:
        original: an ONNX file, in 32 bits.
        compressed: an ONNX file.
        runs: the runs of the original.

    Returns:
        What was found; None where the compressed file has no tensor of 16 bits.

    Raises:
        UserError: a file cannot be read, or the original cannot run.
    """
    first, second = (_graph(path) for path in (original, compressed))
    types = find_half_tensors(second)
    if not types:
        return None
    matched = dict(_matched(first, second, types))
    session = Session(with_outputs(first.model, list(matched)), str(original), optimised=False)
    wide = {t: other for t, other in matched.items() if session.output_types[t] in _WIDER}
    sums = {tensor: _Sum(_HALVES[types[other]]) for tensor, other in wide.items()}
    rows = _find_rows(session, runs, {tensor: one.add for tensor, one in sums.items()})
    wide = {tensor: other for tensor, other in wide.items() if rows[tensor].any()}
    unanswered = None
    with suppress(UserError):
        infinite, unanswered = _infinite(second, types, str(compressed), runs, wide, first)
        rows |= {tensor: rows[tensor] & infinite[tensor] for tensor in wide}
    beyond = [t for t in sorted(wide, key=lambda t: first.maker[t]) if rows[t].any()]
    count = sum(_items(run) for run in runs)
    return HalfPrecisionFindings(
        tuple(sorted(set(types.values()))),
        count,
        int(np.any([np.zeros(count, np.bool_), *(rows[t] for t in beyond)], axis=0).sum()),
        unanswered,
        tuple(_beyond(first, t, types[wide[t]], sums[t].largest, rows[t]) for t in beyond),
        tuple(_lost_constants(first, second)),
        _ran_otherwise(compressed, types),
    )


@dataclass
class _Sum:
    """The largest value of a tensor, over values that come in parts."""

    half: _Half
    largest: float = 0.0

    def add(self, values: Array) -> Rows:
        """Take in the values of a call; which of them are beyond the range."""
        sizes = np.abs(np.where(np.isfinite(values), values, 0))
        if sizes.size:
            self.largest = max(self.largest, float(sizes.max()))
        return np.asarray(sizes >= self.half.infinite)


def _by_item(values: Array, rows: int) -> Rows:
    """On which items of a call something holds; on all where the values are not of items."""
    if values.ndim and len(values) == rows:
        return np.asarray(values.reshape(rows, -1).any(axis=1))
    return np.full(rows, bool(values.any()))


def _items(run: Run) -> int:
    return run.items if isinstance(run, FilledRun) else _size(run)


def _size(run: Run) -> int:
    return len(next(iter(first_call(run).values())))


def _find_rows(
    session: Session,
    runs: Sequence[Run],
    tests: Mapping[str, Callable[[Array], Array]],
    states: Mapping[str, str] | None = None,
) -> dict[str, Rows]:
    """On which items of all runs a value of a tensor passes its test, by the tensors' names."""
    found: dict[str, list[Rows]] = {tensor: [np.zeros(0, np.bool_)] for tensor in tests}
    for run in runs:
        rows = {tensor: np.zeros(_size(run), np.bool_) for tensor in tests}
        for values in session.calls(run, states):
            for tensor, test in tests.items():
                rows[tensor] |= _by_item(test(values[tensor]), _size(run))
        for tensor in tests:
            found[tensor].append(rows[tensor][: _items(run)])
    return {tensor: np.concatenate(parts) for tensor, parts in found.items()}


def _infinite(
    graph: OnnxGraph,
    types: Mapping[str, str],
    name: str,
    runs: Sequence[Run],
    tensors: Mapping[str, str],
    original: OnnxGraph,
) -> tuple[dict[str, Rows], int]:
    """On which items tensors are not finite where the file is rounded, and its answers' number.

    Raises:
        UserError: the file cannot be rounded or run.
    """
    model = with_outputs(build_rounded_model(graph, types), list(tensors.values()))
    session = Session(model, f"{name}, rounded after each node", optimised=False)
    states = dict(zip(original.outputs, graph.outputs, strict=True))
    tests = dict.fromkeys([*tensors.values(), *graph.outputs], _not_finite)
    rows = _find_rows(session, runs, tests, states)
    unanswered = np.any([rows[output] for output in graph.outputs], axis=0)
    return {tensor: rows[own] for tensor, own in tensors.items()}, int(unanswered.sum())


def _not_finite(values: Array) -> Rows:
    return ~np.isfinite(values) if values.dtype.kind == "f" else np.zeros(values.shape, np.bool_)


def _graph(path: Path) -> OnnxGraph:
    model = read_onnx(path)
    with reading(str(path)):
        without_constant_nodes(model)
        sort_nodes(model.graph)
        return OnnxGraph(model)


def find_half_tensors(graph: OnnxGraph) -> dict[str, str]:
    """The tensors of 16 bits that depend on an input, with the types that the file declares."""
    inferred = onnx.shape_inference.infer_shapes(graph.model).graph
    values = [*inferred.value_info, *inferred.input, *inferred.output]
    named = {v.name: _NAMES(v.type.tensor_type.elem_type).lower() for v in values}
    return {n: named[n] for n in graph.maker if n in graph.varying and named.get(n) in _HALVES}


def _matched(
    original: OnnxGraph, compressed: OnnxGraph, types: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """The original's tensors with their counterparts in the compressed file."""
    nodes = {node.name: node for node in original.nodes if node.name}
    for tensor in types:
        if tensor in original.maker:
            yield tensor, tensor
            continue
        maker = compressed.maker_of(tensor)
        node = nodes.get(maker.name)
        place = list(maker.output).index(tensor)
        if node is not None and node.op_type == maker.op_type and place < len(node.output):
            yield node.output[place], tensor


def _beyond(
    graph: OnnxGraph, tensor: str, kind: str, largest: float, rows: Rows
) -> OverflowingTensor:
    index, limit = graph.maker[tensor], _HALVES[kind].largest
    name, operator = graph.name_of(index), graph.nodes[index].op_type
    return OverflowingTensor(tensor, name, operator, kind, limit, largest, int(rows.sum()))


def _ran_otherwise(path: Path, types: Mapping[str, str]) -> tuple[RetypedNode, ...]:
    """None where ONNX Runtime cannot open the file: nothing ran."""
    with suppress(UserError):
        return tuple(find_retyped_nodes(path, types))
    return ()


def _lost_constants(original: OnnxGraph, compressed: OnnxGraph) -> Iterator[LostConstant]:
    """Constants under one name in both files; what the compressed one holds is what counts."""
    for name in original.constants:
        ours, theirs = original.value(name), compressed.value(name)
        if ours is None or theirs is None or ours.shape != theirs.shape:
            continue
        if ours.dtype.kind != "f":
            continue
        given, became = np.atleast_1d(ours.astype(np.float64)), np.atleast_1d(theirs)
        became = became.astype(np.float64)
        infinite = np.isfinite(given) & ~np.isfinite(became)
        zero = (given != 0) & (became == 0)
        if infinite.any():
            value = float(given[infinite][0])
            becomes = "-inf" if value < 0 else "inf"
            yield LostConstant(name, value, becomes, int(infinite.sum()))
        if zero.all():  # single small weights are lost without harm, an epsilon is not
            yield LostConstant(name, float(given[zero][0]), "0", int(zero.sum()))


def describe_half_precision(facts: HalfPrecisionFindings) -> list[str]:
    """Sentences about a file of 16 bits that a verdict on it has to contain."""
    sentences = []
    if facts.unanswered:
        sentences.append(
            f"a device that computes as the file says gives no finite answer on "
            f"{facts.unanswered} of {facts.inputs} inputs"
        )
    for one in facts.beyond:
        sentences.append(
            f"{one.node} ({one.operator}) gives {one.largest:.4g} on {one.inputs} of "
            f"{facts.inputs} inputs, and {one.type} ends at {one.limit:.6g}"
        )
    for lost in facts.constants:
        sentences.append(
            f"the constant {lost.tensor} ({lost.value:.4g}) is {lost.becomes} in the file"
        )
    if facts.ran_otherwise:
        kinds = sorted({(one.type_in_file, one.type_run) for one in facts.ran_otherwise})
        named = ", ".join(f"{here} instead of {there}" for there, here in kinds)
        count = len(facts.ran_otherwise)
        sentences.append(
            f"ONNX Runtime computed {count} nodes otherwise than the file says: {named}"
        )
    return sentences


def build_rounded_model(graph: OnnxGraph, types: Mapping[str, str]) -> ModelProto:
    """A model in 32 bits that rounds each tensor of 16 bits as its file says.

    Sums within a node are in 32 bits, as most devices have them.

    Args:
        graph: the graph of the file, without ``Constant`` nodes.
        types: the tensors that are rounded, with their types.

    Raises:
        UserError: the file has control flow.
    """
    if any(True for node in graph.nodes for _ in subgraphs(node)):
        raise UserError("nodes of control flow are not rewritten")
    model = in_float32(graph.model)
    del model.graph.value_info[:]
    nodes = []
    for node in model.graph.node:
        copy, roundings = rename_tensors(node, {}), []
        for place, name in enumerate(node.output):
            if name in types:
                copy.output[place] = f"{name}:exact"
                roundings += _rounding(
                    f"{name}:exact", name, TensorProto.DataType.Value(types[name].upper())
                )
        nodes += [copy, *roundings]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def _rounding(given: str, made: str, kind: int) -> list[Any]:
    half = f"{made}:half"
    return [
        helper.make_node("Cast", [given], [half], f"{made}:round", to=kind),
        helper.make_node("Cast", [half], [made], f"{made}:widen", to=TensorProto.FLOAT),
    ]
