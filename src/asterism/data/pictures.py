"""Reading PNG and JPEG images, whose sizes are read from their headers before they are decoded."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import require_file
from asterism.core.files.limits import read_within_limit, require_size_within_limit
from asterism.core.messages.errors import reading

_PNG = b"\x89PNG\r\n\x1a\n"
#: Markers of JPEG that begin a frame, which states the size (ITU-T T.81, table B.1).
_FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
#: Markers that stand alone, without a length.
_ALONE = {0x01, *range(0xD0, 0xD9)}


def read_image_size(content: bytes) -> tuple[int, int] | None:
    """Height and width that a PNG or a JPEG declares; None of anything else."""
    if content.startswith(_PNG) and content[12:16] == b"IHDR" and len(content) >= 24:
        width, height = struct.unpack(">II", content[16:24])
        return height, width
    return _size_of_jpeg(content) if content.startswith(b"\xff\xd8") else None


def _size_of_jpeg(content: bytes) -> tuple[int, int] | None:
    """The largest size of any frame: decoders do not agree which frame counts."""
    sizes, at = [], 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker in _ALONE:
            at += 2
        elif marker == 0xDA:  # the picture itself follows
            break
        else:
            if marker in _FRAMES:
                sizes.append(struct.unpack(">HH", content[at + 5 : at + 9]))
            at += 2 + max(2, int.from_bytes(content[at + 2 : at + 4]))
    return max(sizes, key=lambda size: size[0] * size[1], default=None)


def read_picture(path: Path) -> NDArray[np.uint8]:
    """A PNG or JPEG file as RGB, uint8 ``(H, W, 3)``; of grey images all channels are one.

    Raises:
        UserError: missing, damaged, of another format, or larger than ``limits.image_mb``.
    """
    import cv2

    require_file(path, "image")
    with reading(f"the image {path}"):
        content = read_within_limit(path, "limits.image_mb")
        size = read_image_size(content)
        if size is None:
            raise ValueError("it is neither PNG nor JPEG, or is damaged")
        height, width = size
        require_size_within_limit(
            height * width * 3, "limits.image_mb", f"{path} declares an image"
        )
        pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
        if pixels is None:
            raise ValueError("it is damaged")
    return np.asarray(pixels[..., ::-1], np.uint8)
