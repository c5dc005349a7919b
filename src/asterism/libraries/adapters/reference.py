"""How far float32's rounding alone can move a model's output."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.randomness.random_streams import stream
from asterism.memo.universe.tensors import EPSILON


def perturbed(array: NDArray[Any]) -> NDArray[Any]:
    """Every number of a floating array off by up to float32's relative rounding.

    The float64 model run with such inputs and weights moves as far as float32's rounding of
    them can move it: a measure of the model's conditioning that no library under test enters.
    """
    if not np.issubdtype(array.dtype, np.floating):
        return array
    noise = stream(0, "perturbation", array.size).uniform(-1, 1, array.shape)
    moved: NDArray[Any] = (array * (1 + EPSILON["float32"] * noise)).astype(array.dtype)
    return moved
