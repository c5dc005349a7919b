"""Images as pixels in [0, 1], which attacks change, and how far a change goes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.attack import Floats


def as_pixels(images: NDArray[np.uint8]) -> Floats:
    """uint8 images as pixels in [0, 1]."""
    return images.astype(np.float32) / np.float32(255)


def as_levels(pixels: Floats) -> NDArray[np.uint8]:
    """Pixels in [0, 1] as images of 256 grey levels."""
    return np.round(pixels * 255).astype(np.uint8)


def l2(first: Floats, second: Floats) -> NDArray[np.float64]:
    """Euclidean distance of each pair of images, float64 ``(N,)``."""
    difference = (first.astype(np.float64) - second).reshape(len(first), -1)
    distance: NDArray[np.float64] = np.sqrt((difference**2).sum(axis=1))
    return distance


def linf(first: Floats, second: Floats) -> NDArray[np.float64]:
    """Greatest change of one pixel between each pair of images, float64 ``(N,)``."""
    change = np.abs(first - second).reshape(len(first), -1)
    largest: NDArray[np.float64] = change.max(axis=1).astype(np.float64)
    return largest
