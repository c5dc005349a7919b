"""Inferring from a model's signature which kind of inputs it takes."""

from __future__ import annotations

import numpy as np

from asterism.models.signatures.signature import Signature, TensorSpec

#: A fixed axis of so many real numbers, or more, beside axes of 1 is taken for sound.
_SOUND = 4000


def kind_of_inputs(signature: Signature) -> tuple[str, str]:
    """The kind of a model's main input, and what tells it.

    Kinds are those of :data:`asterism.data.given.kind.INPUT_KINDS`.
    """
    if not signature.given:
        return "tensors", "it has no input but its own state"
    spec = signature.given[0]
    sizes, name = spec.shape[1:], spec.name.lower()
    if len(spec.shape) == 4 and (sizes[0] in (1, 3) or sizes[-1] in (1, 3)):
        return "images", f"{spec.name} has four axes, one of 1 or 3 channels"
    if _is_integer(spec) and len(spec.shape) == 2:
        if "byte" in name or spec.dtype == "uint8":
            return "bytes", f"{spec.name} is of the type or the name of bytes"
        return "tokens", f"{spec.name} takes rows of integers"
    longest = max((size for size in sizes if size is not None), default=0)
    alone = sum(size != 1 for size in sizes) <= 1
    if alone and (longest >= _SOUND or any(word in name for word in ("audio", "wave", "sound"))):
        return "sound", f"{spec.name} takes one long row of real numbers"
    return "tensors", f"{spec.name} takes real numbers of {len(sizes)} axes"


def _is_integer(spec: TensorSpec) -> bool:
    try:
        return np.dtype(spec.dtype).kind in "iu" and not spec.scale
    except TypeError:
        return False
