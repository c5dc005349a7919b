"""Reading ONNX files within limits, and packing a model with data in other files into one file.

An ONNX model may keep its tensors in other files. A stage depends only on the files that parameters
name, so a change of such data would run nothing again. Therefore these models are rejected wherever
they are opened, and :func:`pack_onnx` makes one file of them; commands do so by themselves.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asterism.core.files.artifacts import replacing, require_file
from asterism.core.files.limits import read_within_limit, require_size_within_limit
from asterism.core.files.user_files import resolve_inside
from asterism.core.messages.errors import UserError, reading
from asterism.models.foreign.names import NameMap
from asterism.models.foreign.onnx_rules import (
    iterate_messages,
    rename_model,
    require_sound,
    width_of,
)

if TYPE_CHECKING:
    import onnx

#: Bytes of a constant whose values may say how large other values are.
_SMALL = 4096


@dataclass(frozen=True)
class OnnxFile:
    """An ONNX file as libraries get it.

    Attributes:
        model: ``onnx.ModelProto`` with names of ours, see
            :func:`~asterism.models.foreign.onnx_rules.rename_model`.
        names: the table of names.
    """

    model: onnx.ModelProto
    names: NameMap

    @property
    def content(self) -> bytes:
        """The model, serialised."""
        return bytes(self.model.SerializeToString(deterministic=True))


def read_renamed_onnx(path: Path) -> OnnxFile:
    """An ONNX model with names of ours, to be given to any library.

    Raises:
        UserError: see :func:`read_onnx`.
    """
    model = read_onnx(path)
    return OnnxFile(model, rename_model(model, str(path)))


def read_onnx(path: Path) -> onnx.ModelProto:
    """An ONNX model as its file has it, names included: for code of ours that makes a user's file.

    Raises:
        UserError: missing, damaged, not as
            :func:`~asterism.models.foreign.onnx_rules.require_sound` demands, larger than
            ``limits.model_mb`` as a file, with a value that is larger than ``limits.array_mb`` for
            any input, or with data in other files.
    """
    model = _parsed(path)
    if any(_is_outside(tensor) for tensor in _tensors(model, path)):
        whole = path.with_name(f"{path.stem}-whole.onnx")
        raise UserError(
            f"{path} keeps data in other files, and no stage would know of their changes: make "
            f"one file of it by `asterism pack {path} {whole}`"
        )
    _require_small_values(model, path)
    return model


def pack_onnx(path: Path, target: Path) -> bool:
    """Write a model with data in other files as one file; whether it has any.

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
    outside = [tensor for tensor in _tensors(model, path) if _is_outside(tensor)]
    places = {entry.value for t in outside for entry in t.external_data if entry.key == "location"}
    with reading(f"the data of {path}"):
        files = [resolve_inside(path.parent, place, str(path)) for place in sorted(places)]
        size = sum(file.stat().st_size for file in files)
        require_size_within_limit(size, "limits.model_mb", f"{path} has data in other files")
        onnx.load_external_data_for_model(model, str(path.parent))
        for tensor in outside:
            onnx.numpy_helper.to_array(tensor)  # the bytes are as many as the shape needs
    with replacing(target) as temporary:
        temporary.write_bytes(model.SerializeToString(deterministic=True))
        read_onnx(temporary)
    return bool(outside)


def _parsed(path: Path) -> onnx.ModelProto:
    """The model as its file holds it, once what it holds is sound."""
    import onnx

    require_file(path, "model file")
    with reading(str(path)):
        content = read_within_limit(path, "limits.model_mb")
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # protobuf's own
        raise UserError(f"{path} is no ONNX model, or is damaged: {error}") from None
    require_sound(model, str(path))
    return model


def _tensors(model: Any, path: Path) -> list[Any]:
    return [p for p in iterate_messages(model, str(path)) if p.DESCRIPTOR.name == "TensorProto"]


def _is_outside(tensor: onnx.TensorProto) -> bool:
    return bool(tensor.external_data) or tensor.data_location != tensor.DEFAULT


def _require_small_values(model: onnx.ModelProto, path: Path) -> None:
    """Reject a graph that computes a too large value, whatever its input.

    A node of a few bytes can make any number of values of a shape (``ConstantOfShape``,
    ``Expand``, ``Tile``, ``Range``), and runtimes compute such nodes when they open the file.
    """
    import onnx

    with suppress(Exception):  # of a graph without a meaning; the runtime says which
        model = onnx.shape_inference.infer_shapes(_without_weights(model), data_prop=True)
    for value in iterate_messages(model, str(path)):
        if value.DESCRIPTOR.name != "ValueInfoProto":
            continue
        tensor = value.type.tensor_type
        size = math.prod(max(d.dim_value, 1) for d in tensor.shape.dim) * width_of(tensor.elem_type)
        require_size_within_limit(size, "limits.array_mb", f"{path} declares {value.name!r}")


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
