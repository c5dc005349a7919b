"""Pictures as markup: the same content gives the same bytes, and nothing is fetched or run.

An SVG may hold scripts and addresses. As an image, browsers neither run nor fetch what is in it:
https://www.w3.org/TR/SVG2/conform.html#secure-static-mode.
"""

from __future__ import annotations

import base64
from pathlib import Path

import cv2
import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from numpy.typing import NDArray

from asterism.core.drawing.svg import svg_text
from asterism.core.files.limits import read_within
from asterism.core.messages.errors import reading

_IMAGE = '<img class="pixels" width="{}" height="{}" alt="{}" src="data:image/png;base64,{}">'
#: How many times as wide as high an image is shown at most.
_WIDEST = 4

_FIGURE = '<div class="figure"><img alt="{}" src="data:image/svg+xml;base64,{}"></div>'


def svg(figure: Figure, alt: str) -> Markup:
    """A figure as an image that scales with the page."""
    return _figure(svg_text(figure).encode(), alt)


def svg_file(path: Path, alt: str) -> Markup:
    """An SVG file as an image that scales with the page, whoever made it.

    Raises:
        UserError: it cannot be read, or is too large.
    """
    with reading(f"the picture {path}"):
        return _figure(read_within(path, "limits.text_mb"), alt)


def _figure(drawing: bytes, alt: str) -> Markup:
    return Markup(_FIGURE).format(alt, base64.b64encode(drawing).decode())


def png(image: NDArray[np.uint8], alt: str, size: int = 84) -> Markup:
    """An image ``(H, W, C)`` uint8 with C of 1 or 3 (RGB) as an inline PNG, pixels kept sharp.

    It is shown ``size`` pixels high, less where it is very wide.
    """
    pixels = image if image.shape[-1] == 1 else image[..., ::-1]
    ok, data = cv2.imencode(".png", pixels)
    if not ok:
        raise ValueError(f"cannot encode an image of shape {image.shape}")
    encoded = base64.b64encode(data.tobytes()).decode()
    height, width = image.shape[:2]
    wide = min(_WIDEST * size, max(1, round(size * width / height)))
    return Markup(_IMAGE).format(wide, round(wide * height / width), alt, encoded)
