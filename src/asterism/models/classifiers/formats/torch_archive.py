"""Archives of ``torch.export.save``, and what in them could run code.

``torch.export.load`` unpickles parts of the archive, evaluates its symbolic sizes as Python
expressions and calls whatever torch function a node names, among them some that write files. So
the archive is inspected first, and rejected where anything in it could act on more than tensors.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asterism.core.files.archives import opened_zip
from asterism.core.files.limits import parse_json, require_room
from asterism.core.messages.errors import UserError, telling_line

_OPERATOR = re.compile(r"torch\.ops\.aten\.(\w+)\.(\w+)")
_ARITHMETIC = re.compile(
    r"_operator\.(getitem|add|sub|mul|floordiv|truediv|mod|neg|pow|eq|ne|lt|le|gt|ge)"
)
_SYMBOL = re.compile(r"Symbol\('[a-z]{1,3}\d+'(, (positive|nonnegative|integer)=True)*\)")
_SAFE_NAME = re.compile(r"[a-z]{1,3}\d+|Max|Min|Mod|FloorDiv|CleanDiv|CeilToInt|Integer|oo|int_oo")
_FORBIDDEN_FOLDERS = ("data/aotinductor/", "data/constants/custom_obj", "data/constants/opaque_obj")

#: What exports of classifiers use beside PyTorch's core operators: what its layers are made of.
_LAYERS = frozenset({
    "_assert_tensor_metadata", "adaptive_avg_pool2d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "alpha_dropout", "baddbmm", "batch_norm", "broadcast_to", "celu",
    "channel_shuffle", "chunk", "clamp_max", "clamp_min", "concat", "contiguous", "conv1d",
    "conv2d", "conv_transpose2d", "detach", "dropout", "einsum", "expand_as",
    "feature_alpha_dropout", "feature_dropout", "flatten", "floor_divide", "glu", "group_norm",
    "gru", "hardsigmoid", "hardswish", "instance_norm", "layer_norm", "lift_fresh_copy",
    "linalg_vector_norm", "linear", "log_sigmoid", "log_softmax", "logsumexp", "lstm",
    "masked_fill", "matmul", "max_pool1d", "max_pool2d", "mish", "movedim", "mT", "narrow",
    "new_full", "new_ones", "new_zeros", "norm", "ones", "ones_like", "pad", "pixel_shuffle",
    "pixel_unshuffle", "prelu", "reshape", "rms_norm", "rnn_relu", "rnn_tanh", "roll", "rrelu",
    "rsub", "scaled_dot_product_attention", "selu", "silu", "softmax", "softplus", "split",
    "square", "stack", "std", "swapaxes", "t", "tile", "to", "transpose", "type_as", "unbind",
    "unflatten", "unfold", "upsample_bicubic2d", "var_mean", "view_as", "zeros", "zeros_like",
})  # fmt: skip


def inspected(path: Path) -> io.BytesIO:
    """An archive's content, once nothing in it could run code while it is opened or run.

    What was inspected is written anew, since PyTorch may read other things in the same file: it
    finds entries by other rules, and ``MODEL.JSON`` where it looks for ``model.json``.

    Raises:
        UserError: something could, or it is no such archive.
    """
    copy = io.BytesIO()
    try:
        with opened_zip(path, "limits.model_mb") as archive, zipfile.ZipFile(copy, "w") as anew:
            names = archive.namelist()
            _inspect_names([_inside(name) for name in names], path)
            for name in names:
                if name.lower().endswith(".json"):
                    size = archive.getinfo(name).file_size
                    require_room(size, "limits.text_mb", f"{path} declares {name}")
                content = archive.read(name)
                _inspect_file(_inside(name), content, path)
                anew.writestr(name, content)
    except UserError:
        raise
    except Exception as error:  # whatever a damaged archive makes zipfile raise
        reason = telling_line(str(error)) or type(error).__name__
        raise UserError(f"{path} is no archive of torch.export.save: {reason}") from None
    copy.seek(0)
    return copy


def _inside(name: str) -> str:
    """An entry's name in the archive's one folder, as PyTorch compares it: in small letters."""
    return name.partition("/")[2].lower()


def _inspect_names(names: list[str], path: Path) -> None:
    if len(set(names)) < len(names):
        raise UserError(f"{path} holds two files of one name: not opened")
    if not any(name.startswith("models/") for name in names):
        raise UserError(
            f"{path} is no archive of torch.export.save (pickled models are not read: export "
            "yours with torch.export)"
        )
    for name in names:
        compiled = any(name.startswith(folder) for folder in _FORBIDDEN_FOLDERS)
        pickled = name.startswith(("data/weights/", "data/constants/")) and name.endswith(".pt")
        if compiled or pickled:
            raise UserError(f"{path} holds {name}, which could run foreign code: not opened")


def _inspect_file(name: str, content: bytes, path: Path) -> None:
    if name.endswith(".json"):
        _inspect_document(parse_json(content, str(path)), path)
    elif name.startswith("data/sample_inputs/"):
        _inspect_pickle(content, path)


def _inspect_document(document: Any, path: Path) -> None:
    for key, value in _entries(document):
        bad = (
            (key == "use_pickle" and value is not False)
            or (key == "target" and isinstance(value, str) and not _only_computes(value))
            or (key == "expr_str" and not _is_arithmetic(value))
        )
        if bad:
            raise UserError(
                f"{path} holds {key}={value!r}, which could run foreign code: not opened"
            )


def _only_computes(target: str) -> bool:
    """Whether a node calls what makes tensors and numbers of such, and reaches nothing else.

    Not all of PyTorch's operators do: ``aten.save`` and ``aten.from_file`` write files.
    """
    import torch

    if _ARITHMETIC.fullmatch(target):
        return True
    named = _OPERATOR.fullmatch(target)
    if named is None or named[2] not in _tags(named[1]):
        return False
    name = named[1].removesuffix("_")  # that of the operator which does not work in place
    return name in _LAYERS or any(torch.Tag.core in tags for tags in _tags(name).values())


def _tags(name: str) -> dict[str, list[Any]]:
    """The tags of each overload of an operator; none where there is no operator of that name."""
    import torch

    packet = getattr(torch.ops.aten, name, None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):
        return {}
    overloads: list[str] = packet.overloads()  # type: ignore[no-untyped-call]
    return {overload: getattr(packet, overload).tags for overload in overloads}


def _is_arithmetic(expression: Any) -> bool:
    text = _SYMBOL.sub("s0", str(expression))
    names = re.findall(r"[A-Za-z_]\w*", text)
    return bool(re.fullmatch(r"[\w\s+*/(),.-]*", text)) and all(map(_SAFE_NAME.fullmatch, names))


def _inspect_pickle(content: bytes, path: Path) -> None:
    import torch

    if not content:
        return
    try:
        torch.load(io.BytesIO(content), weights_only=True)
    except Exception:
        raise UserError(f"the sample inputs in {path} could run foreign code: not opened") from None


def _entries(document: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield key, value
            yield from _entries(value)
    elif isinstance(document, list):
        for value in document:
            yield from _entries(value)
