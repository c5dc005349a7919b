"""What a model's own preprocessing does to uint8 images."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection


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
