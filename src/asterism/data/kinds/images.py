"""Images: PNG and JPEG files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.data.kinds import INPUT_KINDS, InputKind, Shaping, Sizes, require_array_within_limit
from asterism.data.pictures import read_picture


@INPUT_KINDS.register("images")
class ImageKind(InputKind):
    """Images, uint8 ``(N, H, W, C)``."""

    suffixes: ClassVar[tuple[str, ...]] = (".png", ".jpg", ".jpeg")

    @staticmethod
    def read(path: Path, shaping: Shaping) -> list[NDArray[Any]]:
        """See :meth:`.InputKind.read`."""
        return [read_picture(path)]

    @staticmethod
    def stack(items: Sequence[NDArray[Any]], shaping: Shaping) -> tuple[NDArray[Any], list[str]]:
        """Images of the model's size, or where that is free of their own, which is then one.

        Images of another aspect are cropped, padded or squeezed. A model whose width alone is free
        gets each image at its own width, padded on the right to the widest.
        """
        height, width, channels = _wanted(shaping, items)
        require_array_within_limit(len(items), (height, width, channels), 1)
        fitted = np.empty((len(items), height, width, channels), np.uint8)
        done = Counter[str]()
        free_width = _sizes(shaping)[1] is None
        for row, image in zip(fitted, items, strict=True):
            way = "pad" if free_width else _resizing_of(shaping.fit, image, height, width)
            same = image.shape[:2] == (height, width)
            done[_DONE[way] if not same else ""] += 1
            row[...] = _in_channels(_WAYS[way](image, height, width), channels)
        notes = [
            f"{count} images were {told} {height} × {width}" for told, count in done.items() if told
        ]
        return fitted, notes


def _sizes(shaping: Shaping) -> Sizes:
    """What a model takes as height, width and channels; None where a size is free."""
    a, b, c = shaping.sizes if len(shaping.sizes) == 3 else (None, None, None)
    return (b, c, a) if a in (1, 3) and c not in (1, 3) else (a, b, c)


def _wanted(shaping: Shaping, items: Sequence[NDArray[Any]]) -> tuple[int, int, int]:
    height, width, channels = _sizes(shaping)
    found = {image.shape[:2] for image in items}
    first = items[0]
    if height is not None and width is None:
        width = max(round(w * height / h) for h, w in found)
    if (height is None or width is None) and len(found) > 1:
        listed = ", ".join(f"{h} × {w}" for h, w in sorted(found)[:3])
        raise UserError(
            f"the images have {len(found)} sizes ({listed}, …) and the model takes any: give "
            "images of one size"
        )
    return height or first.shape[0], width or first.shape[1], channels or first.shape[2]


def _resizing_of(fit: str, image: NDArray[Any], height: int, width: int) -> str:
    """How an image is brought to a size: as was asked, or by the aspects.

    What is nearly square is cropped, as classifiers' images are; of what is long, such as a line
    of text, nothing may be cut off.
    """
    if fit != "auto":
        return fit
    if abs(image.shape[0] * width - image.shape[1] * height) <= max(height, width):
        return "squeeze"
    return "crop" if max(height, width) <= _LONG * min(height, width) else "pad"


#: An image is long where its sides differ by more than this factor.
_LONG = 2


def _squeezed(image: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """An image of this size, whatever that does to its aspect."""
    if image.shape[:2] == (height, width):
        return image
    import cv2

    smaller = height * width < image.shape[0] * image.shape[1]
    how = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
    small: NDArray[Any] = cv2.resize(image, (width, height), interpolation=how)
    return small.reshape(height, width, -1)


def _cropped(image: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """The middle of an image whose shorter side fits."""
    factor = max(height / image.shape[0], width / image.shape[1])
    sides = (
        max(height, round(image.shape[0] * factor)),
        max(width, round(image.shape[1] * factor)),
    )
    whole = _squeezed(image, *sides)
    top, left = (whole.shape[0] - height) // 2, (whole.shape[1] - width) // 2
    return whole[top : top + height, left : left + width]


def _padded(image: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """The whole image in the upper left corner, with black beside or below."""
    factor = min(height / image.shape[0], width / image.shape[1])
    sides = (
        min(height, max(1, round(image.shape[0] * factor))),
        min(width, max(1, round(image.shape[1] * factor))),
    )
    padded = np.zeros((height, width, image.shape[2]), np.uint8)
    padded[: sides[0], : sides[1]] = _squeezed(image, *sides)
    return padded


_WAYS = {"squeeze": _squeezed, "crop": _cropped, "pad": _padded}
_DONE = {
    "squeeze": "resized to",
    "crop": "resized by their shorter side, and their middle was cropped to",
    "pad": "resized as a whole, and padded with black to",
}


def _in_channels(image: NDArray[Any], channels: int) -> NDArray[Any]:
    if image.shape[2] == channels:
        return image
    if channels == 1:
        grey = np.rint(image @ np.array([0.299, 0.587, 0.114]))  # ITU-R BT.601
        return np.asarray(grey[..., np.newaxis], np.uint8)
    return np.repeat(image[..., :1], channels, axis=2)
