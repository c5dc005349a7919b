"""ONNX models with generated names, stripped of everything that is no part of the computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from asterism.core.messages.errors import UserError, telling_line
from asterism.models.foreign.names import Names
from asterism.models.foreign.onnx_rules import parts_of

if TYPE_CHECKING:
    import onnx

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


def rename_model(model: onnx.ModelProto, source: str) -> Names:
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
    names = Names()
    for part in parts_of(model, source):
        kind = part.DESCRIPTOR.name
        kept = _COMPUTED.get(kind)
        if kept is not None:
            for field, _ in part.ListFields():
                if field.name not in kept:
                    part.ClearField(field.name)
        _NAMED.get(kind, _nothing)(part, names)
    return names


def _inline(model: onnx.ModelProto, source: str) -> None:
    if not model.functions:
        return
    from onnx import inliner

    try:
        model.CopyFrom(inliner.inline_local_functions(model, convert_version=True))
    except Exception as error:  # the inliner and the parser behind it raise types of their own
        raise UserError(f"{source} has functions that fail: {telling_line(str(error))}") from None
    if model.functions:
        raise UserError(f"{source} has functions of other operator sets than its own: not opened")


def _nothing(part: Any, names: Names) -> None:
    """Messages of this type hold no names."""


def _graph(graph: Any, names: Names) -> None:
    graph.name = "g"


def _node(node: Any, names: Names) -> None:
    node.input[:] = [_value(name, names) for name in node.input]
    node.output[:] = [_value(name, names) for name in node.output]
    node.name = names.fresh("n", node.name)


def _tensor(tensor: Any, names: Names) -> None:
    for field in ("doc_string", "metadata_props", "segment"):
        tensor.ClearField(field)
    tensor.name = _value(tensor.name, names)


def _value_info(value: Any, names: Names) -> None:
    value.name = _value(value.name, names)


def _dimension(size: Any, names: Names) -> None:
    if size.HasField("dim_param"):
        size.dim_param = names.ours("s", size.dim_param)


def _value(name: str, names: Names) -> str:
    """The name of a value; an optional input or output that is left out has none."""
    return names.ours("v", name) if name else ""


_NAMED: dict[str, Callable[[Any, Names], None]] = {
    "GraphProto": _graph,
    "NodeProto": _node,
    "TensorProto": _tensor,
    "ValueInfoProto": _value_info,
    "Dimension": _dimension,
}
