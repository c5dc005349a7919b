"""Pictures as markup: the same content gives the same bytes, and nothing is fetched or run.

An SVG may hold scripts and addresses. As an image, browsers neither run nor fetch what is in it:
https://www.w3.org/TR/SVG2/conform.html#secure-static-mode.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import polars.selectors as cs
from markupsafe import Markup
from matplotlib.figure import Figure
from numpy.typing import NDArray

from asterism.core.files.limits import read_within_limit
from asterism.core.messages.errors import reading
from asterism.core.svg import svg_text

_IMAGE = '<img class="pixels" width="{}" height="{}" alt="{}" src="data:image/png;base64,{}">'
#: How many times as wide as high an image is shown at most.
_WIDEST = 4

_FIGURE = Markup(
    '<figure class="figure"><img alt="{}" src="data:image/svg+xml;base64,{}">'
    '<figcaption class="tools"><button type="button" data-does="enlarge" aria-label="Enlarge: {}" '
    'hidden>Enlarge</button><button type="button" data-does="save" data-name="{}.svg" '
    'aria-label="SVG: {}" hidden>SVG</button>{}{}</figcaption></figure>'
)
_SOURCE = Markup(
    '<details class="origin"><summary aria-label="Source of {}">source</summary><code>{}</code>'
    "</details>"
)
#: Digits that count of numbers in the tables of figures.
_DIGITS = 6
_TABLE = Markup(
    '<a download="{}.csv" aria-label="Data as CSV: {}" href="data:text/csv;base64,{}">CSV</a>'
)


def svg(
    figure: Figure, alt: str, name: str, data: pl.DataFrame, title: str = "", source: str = ""
) -> Markup:
    """A figure as an image that scales with the page, to be had as a file with its data.

    Args:
        figure: what is drawn.
        alt: what is seen, for who does not see it.
        name: of the files, without a suffix.
        data: what the figure draws.
        title: what it is called in a word or two; by default the name.
        source: the file and the keys that it is drawn from.
    """
    return _figure(svg_text(figure).encode(), alt, name, data, title, source)


def svg_file(
    path: Path,
    alt: str,
    name: str,
    data: pl.DataFrame | None = None,
    title: str = "",
    source: str = "",
) -> Markup:
    """An SVG file as an image that scales with the page, whoever made it.

    Args:
        path: the file.
        alt: what is seen, for who does not see it.
        name: of the files that are saved, without a suffix.
        data: what the figure draws, where that is known.
        title: what it is called in a word or two; by default the name.
        source: the file and the keys that it is drawn from.

    Raises:
        UserError: it cannot be read, or is too large.
    """
    with reading(f"the picture {path}"):
        return _figure(read_within_limit(path, "limits.text_mb"), alt, name, data, title, source)


def _figure(
    drawing: bytes, alt: str, name: str, data: pl.DataFrame | None, title: str, source: str
) -> Markup:
    called = title or name.replace("-", " ").replace("_", " ")
    file = re.sub(r"[^\w.-]+", "-", name)
    table = Markup("")
    if data is not None:
        rounded = data.with_columns(cs.float().round_sig_figs(_DIGITS))
        text = rounded.write_csv().encode("utf-8", errors="replace")
        table = _TABLE.format(file, called, base64.b64encode(text).decode())
    drawn = base64.b64encode(drawing).decode()
    origin = _SOURCE.format(called, source) if source else Markup("")
    return _FIGURE.format(alt, drawn, called, file, called, table, origin)


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
