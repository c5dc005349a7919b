"""Guessing from a model's signature which inputs it takes, and how its outputs compare."""

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


def comparison_of_outputs(signature: Signature, has_labels: bool) -> tuple[str | None, str]:
    """How a model's main output is best compared, and what tells it.

    Comparisons are those of ``asterism.dflare.comparisons``.

    Args:
        signature: of the model.
        has_labels: whether the inputs have labels.

    Returns:
        The comparison's name, None where nothing tells it; and the reason.
    """
    spec = signature.answers[0]
    axes = len(spec.shape)
    if spec.made_by in ("softmax", "logsoftmax") and axes <= 2:
        return "top_label", f"{spec.name} comes from a softmax"
    if spec.made_by == "sigmoid" and axes == 2 and (spec.shape[1] or 0) > 1:
        return "multi_label", f"{spec.name} comes from a sigmoid"
    if spec.made_by == "sigmoid" and axes >= 3:
        return "frame_scores", f"{spec.name} has scores of frames that come from a sigmoid"
    if has_labels and axes == 2 and (spec.shape[1] or 0) > 1:
        return "top_label", "the inputs have labels"
    return None, ""


def _is_integer(spec: TensorSpec) -> bool:
    try:
        return np.dtype(spec.dtype).kind in "iu" and not spec.scale
    except TypeError:
        return False
