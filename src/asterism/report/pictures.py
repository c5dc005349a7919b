"""Pictures as markup: the same content gives the same bytes, and nothing is fetched."""

from __future__ import annotations

import base64

import cv2
import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from numpy.typing import NDArray

from asterism.core.figures import svg_text

_IMAGE = '<img class="pixels" width="{}" height="{}" alt="{}" src="data:image/png;base64,{}">'


def svg(figure: Figure, alt: str) -> Markup:
    """A figure as inline SVG that scales with the page."""
    return Markup('<div class="figure" role="img" aria-label="{}">{}</div>').format(
        alt, Markup(svg_text(figure))
    )


def png(image: NDArray[np.uint8], alt: str, size: int = 84) -> Markup:
    """An image ``(H, W, C)`` uint8 with C of 1 or 3 (RGB) as an inline PNG, pixels kept sharp."""
    pixels = image if image.shape[-1] == 1 else image[..., ::-1]
    ok, data = cv2.imencode(".png", pixels)
    if not ok:
        raise ValueError(f"cannot encode an image of shape {image.shape}")
    encoded = base64.b64encode(data.tobytes()).decode()
    return Markup(_IMAGE).format(size, size, alt, encoded)
