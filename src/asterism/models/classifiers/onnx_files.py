"""Reading ONNX files within limits, and packing a model with data in other files into one file.

An ONNX model may keep its tensors in other files. A stage depends only on the files that parameters
name, so a change of such data would run nothing again. Therefore these models are rejected wherever
they are opened, and :func:`pack` makes one file of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asterism.core.files.artifacts import replacing, require_file
from asterism.core.files.limits import read_within, require_room
from asterism.core.files.user_files import inside
from asterism.core.messages.errors import UserError, reading

if TYPE_CHECKING:
    import onnx

#: Graphs inside nodes of graphs. The parser itself allows about thirty.
_DEEPEST = 16
#: Bytes of a constant whose values may say how large other values are.
_SMALL = 4096


def read_onnx(path: Path) -> onnx.ModelProto:
    """An ONNX model, all of which is in its file.

    Raises:
        UserError: missing, damaged, larger than ``limits.model_mb`` as a file or by the tensors
            that it declares, with a value that is larger than ``limits.array_mb`` for any input,
            nested too deeply, or with data in other files.
    """
    model = _parsed(path)
    if any(_is_outside(tensor) for tensor in _of_type(model, path, "TensorProto")):
        whole = path.with_name(f"{path.stem}-whole.onnx")
        raise UserError(
            f"{path} keeps data in other files, and no stage would know of their changes: make "
            f"one file of it by `asterism pack {path} {whole}`"
        )
    _require_small_values(model, path)
    return model


def pack(path: Path, target: Path) -> None:
    """Write a model with data in other files as one file.

    The other files lie in the model's folder or below it, as ONNX itself demands.

    Args:
        path: the model.
        target: where the one file goes.

    Raises:
        UserError: ``path`` cannot be read, its data are missing, lie outside of its folder or are
            not as many as it says, or all of it together exceeds ``limits.model_mb``.
    """
    import onnx

    model = _parsed(path)
    outside = [tensor for tensor in _of_type(model, path, "TensorProto") if _is_outside(tensor)]
    places = {entry.value for t in outside for entry in t.external_data if entry.key == "location"}
    with reading(f"the data of {path}"):
        files = [inside(path.parent, place, str(path)) for place in sorted(places)]
        size = sum(file.stat().st_size for file in files)
        require_room(size, "limits.model_mb", f"{path} has data in other files")
        onnx.load_external_data_for_model(model, str(path.parent))
        for tensor in outside:
            onnx.numpy_helper.to_array(tensor)  # the bytes are as many as the shape needs
    with replacing(target) as temporary:
        temporary.write_bytes(model.SerializeToString(deterministic=True))
        read_onnx(temporary)


def _parsed(path: Path) -> onnx.ModelProto:
    """The model as its file holds it, once the tensors that it declares are not too large."""
    import onnx

    require_file(path, "model file")
    with reading(str(path)):
        content = read_within(path, "limits.model_mb")
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # protobuf's own
        raise UserError(f"{path} is no ONNX model, or is damaged: {error}") from None
    declared = 0
    for tensor in _of_type(model, path, "TensorProto", "SparseTensorProto"):
        if min(tensor.dims, default=0) < 0:
            raise UserError(f"{path} declares a tensor of the shape {list(tensor.dims)}")
        dense = tensor if tensor.DESCRIPTOR.name == "TensorProto" else tensor.values
        declared += math.prod(tensor.dims) * _width(dense.data_type)
    require_room(declared, "limits.model_mb", f"{path} declares tensors")
    return model


def _is_outside(tensor: onnx.TensorProto) -> bool:
    return bool(tensor.external_data) or tensor.data_location != tensor.DEFAULT


def _of_type(model: Any, path: Path, *names: str) -> Iterator[Any]:
    """All parts of a model that are messages of these types, wherever they lie.

    Raises:
        UserError: graphs are nested too deeply.
    """
    waiting = [(model, 0)]
    while waiting:
        message, depth = waiting.pop()
        kind = message.DESCRIPTOR.name
        if kind in names:
            yield message
        depth += kind == "GraphProto"
        if depth > _DEEPEST:
            raise UserError(f"{path} has graphs in graphs, more than {_DEEPEST} deep: not opened")
        for field, value in message.ListFields():
            if field.message_type is not None:
                many = [value] if hasattr(value, "DESCRIPTOR") else value
                waiting.extend((part, depth) for part in many)


def _require_small_values(model: onnx.ModelProto, path: Path) -> None:
    """Reject a graph that computes a too large value, whatever its input.

    A node of a few bytes can make any number of values of a shape (``ConstantOfShape``,
    ``Expand``, ``Tile``, ``Range``), and runtimes compute such nodes when they open the file.
    """
    import onnx

    with suppress(Exception):  # of a graph without a meaning; the runtime says which
        model = onnx.shape_inference.infer_shapes(_without_weights(model), data_prop=True)
    for value in _of_type(model, path, "ValueInfoProto"):
        tensor = value.type.tensor_type
        size = math.prod(max(d.dim_value, 1) for d in tensor.shape.dim) * _width(tensor.elem_type)
        require_room(size, "limits.array_mb", f"{path} declares {value.name!r}")


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with only the shapes of its large weights: inference copies what it gets."""
    import onnx

    copy = onnx.ModelProto()
    for field, value in model.ListFields():
        if field.name != "graph":
            _set(copy, field.name, value)
    for field, value in model.graph.ListFields():
        if field.name != "initializer":
            _set(copy.graph, field.name, value)
    for constant in model.graph.initializer:
        if constant.ByteSize() <= _SMALL:
            copy.graph.initializer.append(constant)
        else:
            dims, name, kind = constant.dims, constant.name, constant.data_type
            copy.graph.initializer.add(dims=dims, name=name, data_type=kind)
    return copy


def _set(message: Any, name: str, value: Any) -> None:
    """Set a field of a message, of any kind."""
    target = getattr(message, name)
    if hasattr(target, "CopyFrom"):
        target.CopyFrom(value)
    elif hasattr(target, "extend"):
        target.extend(value)
    else:
        setattr(message, name, value)


def _width(kind: int) -> int:
    """Bytes of an element; a byte for those that are packed."""
    from onnx import helper

    try:
        return int(helper.tensor_dtype_to_np_dtype(kind).itemsize)
    except (KeyError, TypeError, ValueError):
        return 1
