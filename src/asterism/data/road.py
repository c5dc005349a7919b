"""Drawn roads with steering angles, for runs without driving data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Grey levels of grass, road and line as RGB, before light and noise.
_GRASS, _ROAD, _LINE = (70, 120, 60), (95, 95, 100), (235, 235, 225)
_SKY = (140, 175, 215)
#: The horizon's row as a share of the height.
_HORIZON = 0.35


def draw_roads(
    count: int, height: int, width: int, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Pictures of roads as a camera in the car sees them.

    The angle decides the bend. Where the car stands on the road, how bright it is, and the noise of
    the camera are drawn too, and say nothing about the angle.

    Args:
        count: of the pictures.
        height: in pixels.
        width: in pixels.
        rng: draws everything.

    Returns:
        uint8 ``(count, height, width, 3)``, RGB, and float32 angles ``(count,)`` from -1 (left) to
        1 (right).
    """
    angles = rng.uniform(-1, 1, count)
    beside = rng.uniform(-0.15, 0.15, count)
    light = rng.uniform(0.6, 1.3, count)
    first = round(_HORIZON * height)
    near = (np.arange(first, height) - first + 1) / (height - first)  # 1 in front of the car
    far = 1 - near
    middle = 0.5 + np.outer(beside, near) + 0.45 * np.outer(angles, far**2)
    across = (np.arange(width) + 0.5) / width
    apart = np.abs(across - middle[:, :, np.newaxis])  # (count, rows, width)
    half = (0.03 + 0.35 * near)[:, np.newaxis]
    images = np.empty((count, height, width, 3), np.float32)
    images[:] = _SKY
    ground = images[:, first:]
    ground[:] = _GRASS
    ground[apart < half] = _ROAD
    ground[(apart > 0.86 * half) & (apart < half)] = _LINE
    ground[apart < 0.04 * half] = _LINE
    images *= light[:, np.newaxis, np.newaxis, np.newaxis]
    images += rng.normal(0, 8, images.shape).astype(np.float32)
    return np.clip(np.rint(images), 0, 255).astype(np.uint8), angles.astype(np.float32)
