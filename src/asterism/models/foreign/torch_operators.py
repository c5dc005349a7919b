"""Operators that an exported PyTorch program may call: those that only compute.

Not all of PyTorch's operators do: ``aten.save`` and ``aten.from_file`` write files.
"""

from __future__ import annotations

import functools
import re
from typing import Any

_OPERATOR = re.compile(r"torch\.ops\.aten\.(\w+)\.(\w+)", re.ASCII)
_ARITHMETIC = re.compile(r"_operator\.(add|sub|mul|floordiv|truediv|mod|neg|pow|eq|ne|lt|le|gt|ge)")
#: Types of what an operator returns, where it is one number.
_NUMBERS = (["int"], ["float"], ["bool"], ["number"])

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


@functools.lru_cache(maxsize=10_000)
def only_computes(target: str) -> bool:
    """Whether a node calls what makes tensors and numbers of such, and reaches nothing else."""
    import torch

    if _ARITHMETIC.fullmatch(target):
        return True
    named = _OPERATOR.fullmatch(target)
    if named is None or named[2] not in _tags(named[1]):
        return False
    name = named[1].removesuffix("_")  # that of the operator which does not work in place
    return name in _LAYERS or any(torch.Tag.core in tags for tags in _tags(name).values())


@functools.lru_cache(maxsize=10_000)
def schema_of(target: str) -> Any:
    """The schema of an operator; None of Python's arithmetic, which works on numbers by place.

    Args:
        target: of which :func:`only_computes` is true.
    """
    import torch

    named = _OPERATOR.fullmatch(target)
    return named and getattr(getattr(torch.ops.aten, named[1]), named[2])._schema


def gives_number(target: str) -> bool:
    """Whether an operator gives one number, which Python then computes with."""
    schema = schema_of(target)
    return schema is None or [str(given.type) for given in schema.returns] in _NUMBERS


def _tags(name: str) -> dict[str, list[Any]]:
    """The tags of each overload of an operator; none where there is no operator of that name."""
    import torch

    packet = getattr(torch.ops.aten, name, None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):
        return {}
    overloads: list[str] = packet.overloads()  # type: ignore[no-untyped-call]
    return {overload: getattr(packet, overload).tags for overload in overloads}
