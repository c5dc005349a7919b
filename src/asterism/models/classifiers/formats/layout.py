"""Where the channels are: files may take ``(N, H, W, C)`` or ``(N, C, H, W)``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from asterism.core.messages.errors import UserError
from asterism.models.classifiers.formats import Batch

_CHANNELS = (1, 3)


class Layout:
    """The layout of a file's input, told by its shape.

    Args:
        shape: the input's shape with its batch axis, sizes or None/names where they are free.
        path: the file, for messages.

    Raises:
        UserError: the input is no image of 1 or 3 channels with a fixed size.
    """

    def __init__(self, shape: Sequence[object], path: Path) -> None:
        sizes = [s if isinstance(s, int) and s > 0 else None for s in shape]
        if len(sizes) != 4:
            raise UserError(
                f"{path} takes inputs of shape {list(shape)}; an image classifier takes "
                "(batch, height, width, channels) or (batch, channels, height, width)"
            )
        _, a, b, c = sizes
        if a is None or b is None or c is None:
            raise UserError(
                f"{path} takes inputs of shape {list(shape)}: only the batch may have a free size"
            )
        if c not in _CHANNELS and a not in _CHANNELS:
            raise UserError(
                f"{path} takes inputs of shape {list(shape)}: no axis of 1 or 3 channels"
            )
        self.channels_first = c not in _CHANNELS
        self.input_shape = (b, c, a) if self.channels_first else (a, b, c)
        self.fixed_batch = sizes[0]

    def adapt(self, batch: Batch) -> Batch:
        """Images ``(N, H, W, C)`` in the file's own layout."""
        if self.channels_first:
            # A copy even of one channel, which NumPy calls contiguous as it stands: its strides are
            # those of channels last, and PyTorch takes them at their word.
            return batch.transpose(0, 3, 1, 2).copy(order="C")
        return np.ascontiguousarray(batch)


def require_vector(shape: Sequence[object], path: Path) -> int:
    """The number of outputs of a classifier whose output has this shape."""
    sizes = [s for s in shape[1:] if isinstance(s, int) and s > 0]
    if len(shape) != 2 or len(sizes) != 1:
        raise UserError(
            f"{path} gives outputs of shape {list(shape)}; a classifier gives (batch, classes)"
        )
    return sizes[0]
