"""The shapes of what an image classifier takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from asterism.core.messages.errors import UserError

_CHANNELS = (1, 3)


def image_shape(shape: Sequence[int | None], path: Path) -> tuple[int, int, int]:
    """The shape ``(H, W, C)`` of an image, told by the shape of a model's input.

    Args:
        shape: the input's, with its batch axis; sizes are None where they are free.
        path: the file, for messages.

    Raises:
        UserError: the input is no image of 1 or 3 channels with a fixed size.
    """
    takes = f"{path} takes inputs of shape {list(shape)}"
    if len(shape) != 4:
        raise UserError(
            f"{takes}; an image classifier takes (batch, height, width, channels) or "
            "(batch, channels, height, width)"
        )
    _, a, b, c = shape
    if a is None or b is None or c is None:
        raise UserError(f"{takes}: only the batch may have a free size")
    if c in _CHANNELS:
        return a, b, c
    if a not in _CHANNELS:
        raise UserError(f"{takes}: no axis of 1 or 3 channels")
    return b, c, a


def require_vector(shape: Sequence[int | None], path: Path) -> int:
    """The number of outputs of a classifier whose output has this shape, with its batch axis.

    Raises:
        UserError: the output is no vector of a fixed length.
    """
    sizes = [s for s in shape[1:] if isinstance(s, int) and s > 0]  # Keras lists several outputs'
    if len(shape) != 2 or len(sizes) != 1:
        raise UserError(
            f"{path} gives outputs of shape {list(shape)}; a classifier gives (batch, classes)"
        )
    return sizes[0]


def require_score_for_each(classes: int, outputs: int, path: Path) -> None:
    """Raise a :class:`UserError` unless a model has an output for each class of the data.

    Args:
        classes: how many classes the data have.
        outputs: how many outputs the model has; more than classes are fine.
        path: the model's file, for the message.
    """
    if outputs < classes:
        raise UserError(
            f"{path} has {outputs} output{'s' * (outputs != 1)}, but the data have {classes} "
            "classes: a classifier needs a score for each"
        )
