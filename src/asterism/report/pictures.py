"""Pictures as markup: the same content gives the same bytes, and nothing is fetched."""

from __future__ import annotations

import base64
import io
from typing import Any

import cv2
import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from numpy.typing import NDArray

mpl.rcParams.update(
    {
        "svg.hashsalt": "asterism",  # element ids that do not differ from run to run
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "figure.constrained_layout.use": True,
    }
)


def svg(figure: Figure, alt: str) -> Markup:
    """A figure as inline SVG that scales with the page."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    drawing = buffer.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    return Markup('<div class="figure" role="img" aria-label="{}">').format(alt) + Markup(
        drawing + "</div>"
    )


def png(image: NDArray[np.uint8], alt: str, size: int = 84) -> Markup:
    """An image ``(H, W, C)`` uint8 with C of 1 or 3 (RGB) as an inline PNG, pixels kept sharp."""
    pixels = image if image.shape[-1] == 1 else image[..., ::-1]
    ok, data = cv2.imencode(".png", pixels)
    if not ok:
        raise ValueError(f"cannot encode an image of shape {image.shape}")
    encoded = base64.b64encode(data.tobytes()).decode()
    tag: Any = '<img class="pixels" width="{}" height="{}" alt="{}" src="data:image/png;base64,{}">'
    return Markup(tag).format(size, size, alt, encoded)
