"""Images that a classifier takes, and scores that it gives.

Which shapes of them there are, what a model's own preprocessing does to uint8 images, and whether
its outputs are probabilities or logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection

_CHANNELS = (1, 3)


log = get_logger(__name__)
Floats = NDArray[np.float32]


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


class PreprocessingParams(ParameterSection):
    """``(image * scale - mean) / std``, channel by channel.

    Mean and deviation are in the units that ``scale`` leads to: grey levels where the scale is
    1, shares where it is 1/255. The files of ``conf/preprocessing`` are presets by name.
    """

    scale: float = Field(gt=0, description="factor on the uint8 values, applied first")
    mean: list[float] = Field(min_length=1, description="subtracted; one value, or one per channel")
    std: list[Annotated[float, Field(gt=0)]] = Field(
        min_length=1, description="divisor; one value, or one per channel"
    )

    def apply(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Images uint8 ``(N, H, W, C)`` as the float32 of the same shape that a model takes.

        Raises:
            UserError: mean or std do not fit the number of channels.
        """
        channels = images.shape[-1]
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, channels):
                raise UserError(
                    f"preprocessing.{name} has {len(values)} values, but the images have "
                    f"{channels} channels: give one value, or one per channel"
                )
        # One multiplication and one augmentation, both in float32: what cannot be told from the
        # formula but for rounding, and a third of its time.
        factor, shift = self.affine()
        scaled: NDArray[np.float32] = np.multiply(images, factor.astype(np.float32))
        scaled += shift.astype(np.float32)
        return scaled

    def affine(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same as ``image * factor + shift``: float64, one value each or one per channel."""
        mean, std = np.asarray(self.mean, np.float64), np.asarray(self.std, np.float64)
        return self.scale / std, -mean / std


def model_input(images: NDArray[Any], preprocessing: PreprocessingParams) -> NDArray[np.float32]:
    """What a model takes, of uint8 images or of pixels in [0, 1]."""
    levels: Any = images if images.dtype == np.uint8 else images * np.float32(255)
    return preprocessing.apply(levels)


#: Said of a classifier whose softmax cannot be left off.
FROM_PROBABILITIES = (
    "attacks and relevance start from probabilities, not from logits: behind its softmax the model "
    "has layers that do more than reshape one vector"
)

#: How far a probability may lie outside of [0, 1], and a sum of them from 1, by rounding.
_OUTSIDE, _SUM = 1e-3, 0.05


def softmax(logits: Floats) -> Floats:
    """Softmax along the last axis, float32 ``(..., K)``."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    normalised: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return normalised


def are_logits(outputs: Floats, step: float = 0.0) -> bool:
    """Whether a model's outputs are no probabilities, as far as their values tell.

    Args:
        outputs: finite, ``(N, K)``, for inputs as different as can be.
        step: distance of neighbouring values where outputs are quantised: each of the K may be off
            by that, so that those of many classes add up to anything.
    """
    in_range = outputs.min() >= -_OUTSIDE and outputs.max() <= 1 + _OUTSIDE
    tolerance = _SUM + outputs.shape[1] * step
    return not (in_range and np.abs(outputs.sum(axis=1) - 1).max() <= tolerance)


def check_scores(scores: NDArray[np.float32]) -> list[str]:
    """What there is to say of scores ``(N, K)`` that were to be logits, which is logged as well."""
    if are_logits(scores):
        return []
    log.warning(FROM_PROBABILITIES)
    return [FROM_PROBABILITIES]
