"""Which ONNX files are accepted, and the same models with generated names.

Accepted are those of the format's schema, within limits, in plain text. A protocol buffer of a few
kilobytes can hold functions that call each other twice, forty deep, or words that no operator has.
Both are rejected before a library reads the file. What is accepted is then stripped of everything
that is no part of the computation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sized
from typing import TYPE_CHECKING, Any

from asterism.core.files.limits import require_size_within_limit
from asterism.core.messages.errors import UserError, extract_reason
from asterism.models.foreign.names import NameMap

if TYPE_CHECKING:
    import onnx


#: Graphs inside nodes of graphs, or functions inside functions. The parser allows about thirty.
_DEEPEST = 16
#: Messages in a file: a node with its attributes is about four.
_MOST_PARTS = 1_000_000
#: Nodes, once every call of a function is replaced by the function's own nodes.
_MOST_NODES = 100_000
#: Inputs of a model, and outputs.
_MOST_ENDS = 1_000
#: Axes of a tensor; runtimes take fewer.
_MOST_AXES = 64

#: Names of operators, their domains and their attributes.
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,199}")
#: Texts that choose what an operator does: ``linear``, or the equation of an Einsum.
_CHOICE = re.compile(rb"[A-Za-z0-9_ .,:;>+*/()\[\]-]{0,1000}")
#: Attributes that hold any text, since their operators work on texts.
_TEXTS = frozenset(
    ("default_string", "delimiter", "locale", "pad_value", "pattern", "value_string")
)


def require_sound(model: onnx.ModelProto, source: str) -> None:
    """Reject a file that holds what its format does not have, or more than models need.

    Args:
        model: as the file was parsed; what it holds that the schema does not know is discarded.
        source: the file, for messages.

    Raises:
        UserError: it has an unknown field, too many parts, or a word that is none; it declares
            tensors that are larger than ``limits.model_mb`` together; or its functions call each
            other in circles, or so often that the model would be too large without them.
    """
    size = model.ByteSize()
    model.DiscardUnknownFields()
    if model.ByteSize() != size:
        raise UserError(f"{source} holds fields that ONNX does not have: not opened")
    declared = 0
    for part in iterate_messages(model, source):
        kind = part.DESCRIPTOR.name
        _require_text(source, [part.name] if kind == "TensorProto" else _texts(part))
        if kind in ("TensorProto", "SparseTensorProto"):
            declared += _declared_bytes(part, source)
        elif kind in ("Tensor", "SparseTensor"):
            _require_known(part.elem_type, source)
        elif kind == "TensorShapeProto":
            _require_few_axes(part.dim, source)
        elif kind == "OperatorSetIdProto":
            _require_words(source, *filter(None, (part.domain,)))
        elif kind == "NodeProto":
            _require_words(source, part.op_type, *filter(None, (part.domain, part.overload)))
        elif kind == "AttributeProto":
            _require_words(source, part.name)
            if part.name not in _TEXTS and not _CHOICE.fullmatch(part.s):
                raise UserError(
                    f"{source}: the attribute {part.name} is {part.s[:80]!r}, not one of its values"
                )
    require_size_within_limit(declared, "limits.model_mb", f"{source} declares tensors")
    for ends in (model.graph.input, model.graph.output):
        if len(ends) - len(model.graph.initializer) > _MOST_ENDS:  # old files list weights twice
            raise UserError(f"{source} has more than {_MOST_ENDS:,} inputs or outputs: not opened")
    _require_few_nodes(model, source)


def iterate_messages(model: Any, source: str) -> Iterator[Any]:
    """All messages in a model, tensors as wholes, in the order of the file.

    Raises:
        UserError: there are too many, or graphs are nested too deeply.
    """
    waiting, count = [(model, 0)], 0
    while waiting:
        message, depth = waiting.pop()
        count += 1
        kind = message.DESCRIPTOR.name
        depth += kind == "GraphProto"
        if depth > _DEEPEST or count > _MOST_PARTS:
            raise UserError(
                f"{source} has graphs in graphs, more than {_DEEPEST} deep, or more than "
                f"{_MOST_PARTS:,} parts: not opened"
            )
        yield message
        if kind == "TensorProto":  # the parts of one are its numbers
            continue
        inner = [(f, value) for f, value in message.ListFields() if f.message_type is not None]
        for field, value in reversed(inner):
            many = reversed(value) if field.is_repeated else [value]
            waiting.extend((part, depth) for part in many)


def _texts(part: Any) -> Iterator[Any]:
    for field, value in part.ListFields():
        if field.type == field.TYPE_STRING:
            yield from value if field.is_repeated else [value]


def _require_text(source: str, texts: Iterable[Any]) -> None:
    if not all(isinstance(text, str) for text in texts):  # protobuf gives bytes of other encodings
        raise UserError(f"{source} holds names that are no text (UTF-8): not opened")


def _require_few_axes(sizes: Sized, source: str) -> None:
    if len(sizes) > _MOST_AXES:
        raise UserError(f"{source} declares a tensor of {len(sizes):,} axes: not opened")


def _declared_bytes(tensor: Any, source: str) -> int:
    _require_few_axes(tensor.dims, source)
    if min(tensor.dims, default=0) < 0:
        raise UserError(f"{source} declares a tensor of the shape {list(tensor.dims)}")
    dense = tensor if tensor.DESCRIPTOR.name == "TensorProto" else tensor.values
    _require_known(dense.data_type, source)
    return int(math.prod(tensor.dims)) * width_of(dense.data_type)


def _require_known(kind: int, source: str) -> None:
    from onnx import TensorProto

    if kind not in TensorProto.DataType.values():
        raise UserError(f"{source} declares a tensor of the type {kind}, which ONNX does not have")


def width_of(kind: int) -> int:
    """Bytes of an element of one of ONNX's types; a byte for those that are packed."""
    from onnx import helper

    try:
        return int(helper.tensor_dtype_to_np_dtype(kind).itemsize)
    except (KeyError, TypeError, ValueError):
        return 1


def _require_words(source: str, *words: str) -> None:
    for word in words:
        if not _WORD.fullmatch(word):
            raise UserError(f"{source} names an operator or attribute {word[:80]!r}: not opened")


def _require_few_nodes(model: onnx.ModelProto, source: str) -> None:
    """Count the nodes that the model has once no function is left, by one look at each function."""
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    if len(functions) < len(model.functions):
        raise UserError(f"{source} has two functions of one name: not opened")
    sizes: dict[tuple[str, str, str], int] = {}

    def size_of(nodes: Iterable[Any], depth: int) -> int:
        if depth > _DEEPEST:
            raise UserError(
                f"{source} has functions that call each other, more than {_DEEPEST} deep: "
                "not opened"
            )
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type, node.overload)
            if key in functions and key not in sizes:
                sizes[key] = size_of(_nodes_of(functions[key], source), depth + 1)
            total += sizes.get(key, 1)
        return total

    if size_of(_nodes_of(model.graph, source), 0) > _MOST_NODES:
        raise UserError(f"{source} has more than {_MOST_NODES:,} nodes: not opened")


def _nodes_of(part: Any, source: str) -> Iterator[Any]:
    """The nodes of a graph or function, those inside of their attributes too."""
    return (
        inner for inner in iterate_messages(part, source) if inner.DESCRIPTOR.name == "NodeProto"
    )


#: The fields of each message that say what is computed. All others are texts for people, or for
#: other programs than runtimes. Of the types in lists only those that have such texts are here.
_COMPUTED = {
    "ModelProto": ("ir_version", "opset_import", "graph"),
    "GraphProto": ("node", "initializer", "sparse_initializer", "input", "output", "value_info"),
    "NodeProto": ("input", "output", "name", "op_type", "domain", "attribute"),
    "AttributeProto": (
        *("name", "type", "f", "i", "s", "t", "g", "sparse_tensor", "tp"),
        *("floats", "ints", "strings", "tensors", "graphs", "sparse_tensors", "type_protos"),
    ),
    "ValueInfoProto": ("name", "type"),
    "TypeProto": (
        "tensor_type",
        "sequence_type",
        "map_type",
        "optional_type",
        "sparse_tensor_type",
    ),
    "Dimension": ("dim_value", "dim_param"),
}


def rename_model(model: onnx.ModelProto, source: str) -> NameMap:
    """Give everything in a model a name of ours, in place.

    Values become ``v0``, ``v1``, …, nodes ``n0``, …, free sizes ``s0``, …; what had one name has
    one name again. Calls of the model's own functions are replaced by the functions' nodes.

    Args:
        model: a sound one, see :func:`~asterism.models.foreign.onnx_rules.require_sound`.
        source: the file, for messages.

    Returns:
        The table of names.

    Raises:
        UserError: a function cannot be put in place of its calls.
    """
    _inline(model, source)
    names = NameMap()
    for part in iterate_messages(model, source):
        kept = _COMPUTED.get(part.DESCRIPTOR.name)
        if kept is not None:
            for field, _ in part.ListFields():
                if field.name not in kept:
                    part.ClearField(field.name)
        _rename(part, names)
    return names


def _inline(model: onnx.ModelProto, source: str) -> None:
    if not model.functions:
        return
    from onnx import inliner

    try:
        model.CopyFrom(inliner.inline_local_functions(model, convert_version=True))
    except Exception as error:  # the inliner and the parser behind it raise types of their own
        raise UserError(f"{source} has functions that fail: {extract_reason(str(error))}") from None
    if model.functions:
        raise UserError(f"{source} has functions of other operator sets than its own: not opened")


def _rename(part: Any, names: NameMap) -> None:
    """Give a message the names of ours, where messages of its type hold names."""
    match part.DESCRIPTOR.name:
        case "GraphProto":
            part.name = "g"
        case "NodeProto":
            part.input[:] = [_value(name, names) for name in part.input]
            part.output[:] = [_value(name, names) for name in part.output]
            part.name = names.fresh("n", part.name)
        case "TensorProto":
            for field in ("doc_string", "metadata_props", "segment"):
                part.ClearField(field)
            part.name = _value(part.name, names)
        case "ValueInfoProto":
            part.name = _value(part.name, names)
        case "Dimension" if part.HasField("dim_param"):
            part.dim_param = names.ours("s", part.dim_param)


def _value(name: str, names: NameMap) -> str:
    """The name of a value; an optional input or output that is left out has none."""
    return names.ours("v", name) if name else ""
