"""Images: PNG and JPEG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.data.given.kind import INPUT_KINDS, InputKind, Shaping, require_room_for
from asterism.data.pictures import read_picture


@INPUT_KINDS.register("images")
class Images(InputKind):
    """Images, uint8 ``(N, H, W, C)``."""

    suffixes: ClassVar[tuple[str, ...]] = (".png", ".jpg", ".jpeg")

    @staticmethod
    def read(path: Path, shaping: Shaping) -> list[NDArray[Any]]:
        """See :meth:`.InputKind.read`."""
        return [read_picture(path)]

    @staticmethod
    def stack(items: Sequence[NDArray[Any]], shaping: Shaping) -> tuple[NDArray[Any], list[str]]:
        """Images of the model's size, or where that is free of their own, which is then one."""
        height, width, channels = _wanted(shaping, items)
        require_room_for(len(items), (height, width, channels), 1)
        notes, fitted = [], []
        resized = sum(image.shape[:2] != (height, width) for image in items)
        for image in items:
            fitted.append(_in_channels(_resized(image, height, width), channels))
        if resized:
            notes.append(f"{resized} images were resized to {height} × {width}")
        return np.stack(fitted), notes


def _wanted(shaping: Shaping, items: Sequence[NDArray[Any]]) -> tuple[int, int, int]:
    sizes = shaping.sizes if len(shaping.sizes) == 3 else (None, None, None)
    a, b, c = sizes
    height, width, channels = (b, c, a) if a in (1, 3) and c not in (1, 3) else (a, b, c)
    found = {image.shape[:2] for image in items}
    if (height is None or width is None) and len(found) > 1:
        listed = ", ".join(f"{h} × {w}" for h, w in sorted(found)[:3])
        raise UserError(
            f"the images have {len(found)} sizes ({listed}, …) and the model takes any: give "
            "images of one size"
        )
    first = items[0]
    return height or first.shape[0], width or first.shape[1], channels or first.shape[2]


def _resized(image: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    if image.shape[:2] == (height, width):
        return image
    import cv2

    small: NDArray[Any] = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    return small.reshape(height, width, -1)


def _in_channels(image: NDArray[Any], channels: int) -> NDArray[Any]:
    if image.shape[2] == channels:
        return image
    if channels == 1:
        grey = np.rint(image @ np.array([0.299, 0.587, 0.114]))  # ITU-R BT.601
        return np.asarray(grey[..., np.newaxis], np.uint8)
    return np.repeat(image[..., :1], channels, axis=2)
