"""Inputs of ONNX models: sizes that fit together, and integers within the rows that they index."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from asterism.core.messages.errors import UserError
from asterism.differential.engine.inputs import BATCH
from asterism.differential.subjects import InputSpec, fitting_shape, usual_bound
from asterism.models.foreign.names import NameMap
from asterism.models.onnx_graphs import subgraphs

if TYPE_CHECKING:
    import onnx

Shapes = Mapping[str, Sequence[int]]

#: A sum of sizes as exporters name one: ``past_sequence_length + 1``.
_SUM = re.compile(r"\s*[\w.]+(\s*\+\s*[\w.]+)+\s*", re.ASCII)
#: How often sizes may follow from each other.
_ROUNDS = 3

#: Operators that put out values of these inputs as they are; None: of any.
_PASSES: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(
        (
            *("Cast", "Clip", "Expand", "Flatten", "Gather", "GatherElements", "GatherND"),
            *("Identity", "Pad", "Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose"),
            *("Unsqueeze", "Mod"),
        ),
        (0,),
    ),
    "Where": (1, 2),
    "Concat": None,
}


def build_input_specs(
    name: str,
    model: onnx.ModelProto,
    values: Mapping[str, Any],
    size: int,
    shapes: Shapes,
    names: NameMap,
) -> tuple[InputSpec, ...]:
    """The inputs of a model, with sizes that fit together.

    Args:
        name: the name of the model, for messages.
        model: the model.
        values: the inputs' declarations, by what the user calls them.
        size: stands for free sizes but the first axis', which is the batch.
        shapes: what the user says of some, with the batch.
        names: what the user's file calls the sizes.

    Raises:
        UserError: an input is no tensor of numbers, has an unknown rank, or a shape does not fit.
    """
    where = {title: f"{name}: the input {title!r}" for title in values}
    for title, value in values.items():
        _require_numbers(value, where[title])
    sizes = _resolve_sizes(model, values, size, shapes, names)
    bounds = find_index_bounds(model, {v.name: sizes[t] for t, v in values.items()})
    specs = []
    for title, value in values.items():
        # Some write -1 for a free size.
        stated = [max(d.dim_value, 0) for d in value.type.tensor_type.shape.dim]
        dtype, bound = _type_of(value), bounds.get(value.name) or usual_bound(title)
        shape = fitting_shape(stated, sizes[title], 1, dtype, where[title])
        specs.append(InputSpec(value.name, shape, dtype, bound, title))
    return tuple(specs)


def _require_numbers(value: Any, where: str) -> None:
    """Reject an input that is no tensor of numbers of a known rank.

    Raises:
        UserError: it is none.
    """
    tensor = value.type.tensor_type
    if not tensor.elem_type or not tensor.HasField("shape"):
        raise UserError(f"{where} is no tensor of a known type and rank")
    if np.dtype(_type_of(value)).kind not in "fiub":
        raise UserError(f"{where} is of the type {_type_of(value)}, no numbers")


def _type_of(value: Any) -> str:
    """NumPy's name of an input's type."""
    from onnx import helper

    return str(np.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)))


def _resolve_sizes(
    model: onnx.ModelProto, values: Mapping[str, Any], size: int, shapes: Shapes, names: NameMap
) -> dict[str, list[int]]:
    """A shape for every input: sizes of one name are equal, and those that are sums stay sums.

    Args:
        model: whose outputs may say which sizes are sums of others.
        values: the inputs' declarations, by what the user calls them.
        size: stands for free sizes but the first axis', which is the batch.
        shapes: what the user says of some, with the batch.
        names: what the user's file calls the sizes.
    """
    known: dict[str, int] = {}
    for title, given in shapes.items():
        dims = values[title].type.tensor_type.shape.dim
        for dim, number in zip(dims, given, strict=False):
            if dim.dim_param:
                known.setdefault(dim.dim_param, number)
    given_by_user = set(known)
    declared = [values[t].type.tensor_type.shape.dim for t in values if t not in shapes]
    for batch in (True, False):
        for dims in declared:
            for at, dim in enumerate(dims):
                if dim.dim_param and (at == 0) == batch:
                    known.setdefault(dim.dim_param, BATCH if batch else size)
    _follow_sums(known, given_by_user, names)
    for _ in range(_ROUNDS):
        found = {
            title: list(shapes.get(title) or _shape(value, size, known))
            for title, value in values.items()
        }
        sums = _stated_by_outputs(model, {values[t].name: s for t, s in found.items()}, known)
        if not (sums := {n: s for n, s in sums.items() if n not in given_by_user}):
            break
        known |= sums
    return found


def _shape(value: Any, size: int, known: Mapping[str, int]) -> list[int]:
    dims = value.type.tensor_type.shape.dim
    free = [known.get(d.dim_param, size if at else BATCH) for at, d in enumerate(dims)]
    return [d.dim_value if d.dim_value > 0 else f for d, f in zip(dims, free, strict=True)]


def _follow_sums(known: dict[str, int], fixed: set[str], names: NameMap) -> None:
    """Sizes whose names are sums of others' names."""
    ours = {names.theirs(name): name for name in known}
    for title, name in ours.items():
        if name in fixed or not _SUM.fullmatch(title):
            continue
        terms = [term.strip() for term in title.split("+")]
        numbers = [int(t) if t.isdecimal() else known.get(ours.get(t, "")) for t in terms]
        if None not in numbers:
            known[name] = sum(n for n in numbers if n is not None)


def _stated_by_outputs(
    model: onnx.ModelProto, shapes: Shapes, known: Mapping[str, int]
) -> dict[str, int]:
    """Sizes of inputs that outputs name too, and that come out otherwise: ``past + new``."""
    came = {value.name: value for value in _infer_graph_shapes(model, shapes).output}
    sums = {}
    for value in model.graph.output:
        stated = value.type.tensor_type.shape.dim
        found = came[value.name].type.tensor_type.shape.dim
        for one, other in zip(stated, found, strict=False):
            size = known.get(one.dim_param)
            if size is not None and other.dim_value > 0 and other.dim_value != size:
                sums[one.dim_param] = other.dim_value
    return sums


def _infer_graph_shapes(model: onnx.ModelProto, shapes: Shapes) -> Any:
    """The graph with the shapes that follow from those of its inputs; as it is where none do.

    Args:
        model: of which only what is no constant is asked.
        shapes: the shapes of the inputs, by name.
    """
    import onnx

    copy = deepcopy(model)
    del copy.graph.value_info[:]
    for value in copy.graph.input:
        if value.name in shapes:
            for dim, size in zip(
                value.type.tensor_type.shape.dim, shapes[value.name], strict=False
            ):
                dim.dim_value = size
    for value in copy.graph.output:
        value.type.tensor_type.ClearField("shape")
    try:
        return onnx.shape_inference.infer_shapes(copy, data_prop=True).graph
    except Exception:  # of operators that it does not know, of models that contradict themselves
        return copy.graph


def find_index_bounds(model: onnx.ModelProto, shapes: Shapes) -> dict[str, int]:
    """For inputs that index tables, the smallest table's number of rows: drawn integers lie below.

    Args:
        model: the model.
        shapes: the shapes of its inputs, by name.
    """
    graph = _infer_graph_shapes(model, shapes)
    sizes = {c.name: list(c.dims) for c in model.graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        dims = value.type.tensor_type.shape.dim
        if value.type.tensor_type.HasField("shape") and all(d.dim_value > 0 for d in dims):
            sizes[value.name] = [d.dim_value for d in dims]
    constants = {c.name: c for c in model.graph.initializer}
    same: dict[str, dict[str, int]] = {name: {name: 0} for name in shapes}
    bounds: dict[str, int] = {}
    for node in _nodes(model.graph):
        for source, offset in _indices(node, same):
            rows = _rows(node, sizes, constants)
            if rows is not None:
                bounds[source] = max(1, min(bounds.get(source, rows), rows - offset))
        for source, offset in _passed(node, same, constants):
            for made in node.output:
                same.setdefault(made, {}).setdefault(source, offset)
    return bounds


def _nodes(graph: Any) -> Iterator[Any]:
    """The nodes of a graph, and of the graphs inside of them, which see the same names."""
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from _nodes(inner)


def _indices(node: Any, same: Mapping[str, Mapping[str, int]]) -> list[tuple[str, int]]:
    """The inputs of the model that a node indexes by, and what was added to them."""
    at, _ = _TABLES.get(node.op_type, (None, None))
    if at is None or at >= len(node.input):
        return []
    return list(same.get(node.input[at], {}).items())


def _passed(
    node: Any, same: Mapping[str, Mapping[str, int]], constants: Mapping[str, Any]
) -> Iterator[tuple[str, int]]:
    """The inputs of the model whose values a node puts out, and what was added to them."""
    import onnx

    if node.op_type in ("Add", "Sub"):
        for one, other in (node.input, reversed(node.input)):
            if one in same and other in constants:
                array = onnx.numpy_helper.to_array(constants[other])
                if array.size and array.dtype.kind in "iu":
                    more = int(array.max()) if node.op_type == "Add" else -int(array.min())
                    yield from ((source, offset + more) for source, offset in same[one].items())
        return
    chosen = _PASSES.get(node.op_type, ())
    for at, name in enumerate(node.input):
        if chosen is None or at in chosen:
            yield from same.get(name, {}).items()


def _rows(
    node: Any, sizes: Mapping[str, Sequence[int]], constants: Mapping[str, Any]
) -> int | None:
    """How many rows a node's table has; None where that is not known."""
    import onnx

    rows = _TABLES[node.op_type][1]
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    numbers = {
        name: onnx.numpy_helper.to_array(constants[name])
        for name in node.input
        if name in constants and np.prod(constants[name].dims) <= 1
    }
    given = [sizes.get(name) for name in node.input]
    try:
        return int(rows(attributes, given, [numbers.get(name) for name in node.input]))
    except (IndexError, TypeError, ValueError):
        return None


def _axis(default: int) -> Callable[..., Any]:
    return lambda attributes, sizes, _: sizes[0][attributes.get("axis", default)]


def _several(attributes: Mapping[str, Any], sizes: Sequence[Any], _: Any) -> Any:
    first = attributes.get("batch_dims", 0)
    return min(sizes[0][first : first + sizes[1][-1]])


#: Operators that index: which input holds indices; and the rows, of attributes, shapes and numbers.
_TABLES: dict[str, tuple[int, Callable[..., Any]]] = {
    **dict.fromkeys(("Gather", "GatherElements", "ScatterElements", "Scatter"), (1, _axis(0))),
    **dict.fromkeys(("GatherND", "ScatterND"), (1, _several)),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), (1, _axis(1))),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), (4, lambda _, sizes, __: sizes[0][0])),
    "ArrayFeatureExtractor": (1, _axis(-1)),
    "EmbedLayerNormalization": (0, lambda _, sizes, __: sizes[2][0]),
    "GatherBlockQuantized": (1, _axis(0)),
    "OneHot": (0, lambda _, __, numbers: numbers[1].reshape(-1)[0]),
    "ReverseSequence": (1, lambda attributes, sizes, _: sizes[0][attributes.get("time_axis", 0)]),
    "TopK": (1, _axis(-1)),
}
